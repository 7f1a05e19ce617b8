// The threads that models run on: products on one thread each, denormals off.
#pragma once

#include "base/float_mode.h"
#include "base/workers.h"
#include "gemm/gemm.h"

namespace jumok {

// What Workers for models start with: parallelism is by sentences, every op runs on its worker's thread alone.
inline void prepare_model_thread() {
  gemm::use_one_thread();
  flush_denormals();
}

}  // namespace jumok
