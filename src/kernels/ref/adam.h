// The definition of the parameter update: plain loops, float64 inside.
#pragma once

#include "kernels/adam.h"

namespace jumok::kernels::ref {

// Same arguments and meaning as the functions of kernels/adam.h.
double sum_lanes(float* const* blocks, int count, int64_t begin, int64_t end);
void adam(const Adam& options, int64_t n, float* parameters, float* m, float* v, const float* gradient);

}  // namespace jumok::kernels::ref
