// The explicit run context of every op: memory, tape or none, parameter and gradient blocks, dropout.
#pragma once

#include "autograd/tape.h"
#include "autograd/variable.h"
#include "base/profile.h"
#include "kernels/dropout.h"

namespace jumok {

// A learned matrix (or vector: one row), as a place in the parameter block. The same place of the gradient block holds its gradient.
struct Parameter {
  int64_t offset = 0;  // in floats, from the start of the block
  int64_t rows = 0, columns = 0, stride = 0;
  bool exists() const { return rows > 0; }
  Parameter row_slice(int64_t begin, int64_t count) const { return {offset + begin * stride, count, columns, stride}; }
};

// One micro-batch on one thread. Ops record on the tape when there is one, and only then need the gradient block.
struct Context {
  Arena& arena;
  const float* parameters = nullptr;  // the block the model's Parameters point into
  Tape* tape = nullptr;               // null: inference
  float* gradients = nullptr;         // same layout as `parameters`; gradients are added
  uint32_t dropout_site = 0;          // counts the dropouts of the pass in program order
  Profile* profile = nullptr;         // where the time goes, when somebody wants to know

  Tensor value(const Parameter& p) const { return {const_cast<float*>(parameters) + p.offset, p.rows, p.columns, p.stride}; }
  Tensor gradient(const Parameter& p) const { return {gradients + p.offset, p.rows, p.columns, p.stride}; }

  // A new result [rows, columns], with a place for its gradient while recording.
  Variable result(int64_t rows, int64_t columns) {
    return {arena.tensor(rows, columns), tape != nullptr ? new (arena.allocate<Gradient>(1).data()) Gradient() : nullptr};
  }
  // The next dropout of the network on rows with these keys.
  kernels::Dropout next_dropout(const uint32_t* row_keys, float rate) { return {rate, dropout_site++, row_keys}; }
};

}  // namespace jumok
