// The layout of a model's parameters: names, shapes, places in one contiguous block, first values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autograd/context.h"
#include "base/rng.h"

namespace jumok {

enum class Initial {
  kZero,
  kOne,
  kXavierUniform,  // U(-a, a), a = sqrt(6 / (fan_in + fan_out)); of one matrix, not of a fused group (Glorot & Bengio 2010)
  kEmbedding,      // N(0, 1/D): rows of unit expected norm, scaled back by sqrt(D) at lookup (Vaswani 2017 §3.4)
};

// Parameters that are used as one product are added one after the other and lie adjacent: fuse() gives them as one.
class ParameterLayout {
 public:
  struct Entry {
    std::string name;
    Parameter parameter;
    Initial initial;
    bool is_vector;  // stored in files with shape [n] instead of [rows, n]
  };

  Parameter matrix(std::string name, int64_t rows, int64_t columns, Initial initial = Initial::kXavierUniform);
  Parameter vector(std::string name, int64_t n, Initial initial = Initial::kZero);  // one row [1, n]

  const std::vector<Entry>& entries() const { return entries_; }
  int64_t size() const { return size_; }  // floats of a block, with the padding between rows
  int64_t count() const;                  // parameters without padding

  // Fills a block of size() floats; padding gets zeros. Each matrix has its own random stream, keyed by seed and name.
  void initialise(float* block, uint64_t seed) const;

 private:
  Parameter add(Entry entry);
  std::vector<Entry> entries_;
  int64_t size_ = 0;
};

// The matrices first, first+1, … of equal width, adjacent in memory, as one [Σ rows, columns].
Parameter fuse(const std::vector<Parameter>& adjacent);
// Bias vectors [1, n_i], adjacent, as one [1, Σ n].
Parameter fuse_vectors(const std::vector<Parameter>& adjacent);

}  // namespace jumok
