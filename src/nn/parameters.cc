#include "nn/parameters.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "base/hash.h"

namespace jumok {
namespace {

constexpr int64_t kAlign = 16;  // floats of a cache line

float draw(Rng& rng, Initial initial, double spread) {
  switch (initial) {
    case Initial::kZero:
      return 0;
    case Initial::kOne:
      return 1;
    case Initial::kXavierUniform:
      return static_cast<float>((2 * rng.uniform() - 1) * spread);
    case Initial::kEmbedding:
      return static_cast<float>(rng.normal() * spread);
  }
  return 0;
}

}  // namespace

Parameter ParameterLayout::add(Entry entry) {
  Parameter& p = entry.parameter;
  // A run of vectors, or of matrices of equal width, lies without gaps, so that fuse() can take it as one; each run starts on a cache line.
  const bool continues_run = !entries_.empty() && entries_.back().is_vector == entry.is_vector &&
                             (entry.is_vector || entries_.back().parameter.stride == p.stride);
  if (!continues_run) size_ = (size_ + kAlign - 1) / kAlign * kAlign;
  p.offset = size_;
  size_ += p.rows * p.stride;
  entries_.push_back(std::move(entry));
  return entries_.back().parameter;
}

Parameter ParameterLayout::matrix(std::string name, int64_t rows, int64_t columns, Initial initial) {
  return add({std::move(name), {0, rows, columns, padded_stride(columns)}, initial, false});
}

Parameter ParameterLayout::vector(std::string name, int64_t n, Initial initial) {
  return add({std::move(name), {0, 1, n, n}, initial, true});
}

int64_t ParameterLayout::count() const {
  int64_t n = 0;
  for (const Entry& e : entries_) n += e.parameter.rows * e.parameter.columns;
  return n;
}

void ParameterLayout::initialise(float* block, uint64_t seed) const {
  std::fill_n(block, size_, 0.0f);
  for (const Entry& e : entries_) {
    const Parameter& p = e.parameter;
    Rng rng(hash_words(seed, hash_text(e.name)));
    const double spread = e.initial == Initial::kEmbedding ? 1 / std::sqrt(static_cast<double>(p.columns))
                                                           : std::sqrt(6.0 / static_cast<double>(p.rows + p.columns));
    for (int64_t r = 0; r < p.rows; ++r) {
      float* row = block + p.offset + r * p.stride;
      for (int64_t c = 0; c < p.columns; ++c) row[c] = draw(rng, e.initial, spread);
    }
  }
}

Parameter fuse(const std::vector<Parameter>& adjacent) {
  Parameter all = adjacent.front();
  for (size_t i = 1; i < adjacent.size(); ++i) {
    assert(adjacent[i].offset == all.offset + all.rows * all.stride && adjacent[i].stride == all.stride);
    all.rows += adjacent[i].rows;
  }
  return all;
}

Parameter fuse_vectors(const std::vector<Parameter>& adjacent) {
  Parameter all = adjacent.front();
  for (size_t i = 1; i < adjacent.size(); ++i) {
    assert(adjacent[i].offset == all.offset + all.columns);
    all.columns += adjacent[i].columns;
  }
  all.stride = all.columns;
  return all;
}

}  // namespace jumok
