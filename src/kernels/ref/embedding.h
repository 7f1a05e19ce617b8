// The definition of the embedding kernels: plain loops.
#pragma once

#include "kernels/embedding.h"

namespace jumok::kernels::ref {

// Same arguments and meaning as the functions of kernels/embedding.h.
void embedding_forward(const Embedding& in, Rows y);
void embedding_backward(const Embedding& in, ConstRows dy, Rows dtable, Rows dpositions);

}  // namespace jumok::kernels::ref
