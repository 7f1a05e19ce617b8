// The grid every kernel is tested on: SIMD targets × row lengths × misalignments, in memory that shows a read or write beside a row.
#pragma once

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/rng.h"
#include "kernels/rows.h"

namespace jumok::kernels {

// A test that runs once for each SIMD target this machine supports, and fails when the kernel did not ask which one to use.
class EachTarget : public ::testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(GetParam()); }
  void TearDown() override {
    EXPECT_TRUE(hwy::GetChosenTarget().IsInitialized()) << "no kernel dispatched on " << hwy::TargetName(GetParam());
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().DeInit();
  }
};

inline std::vector<int64_t> supported_targets() { return hwy::SupportedAndGeneratedTargets(); }
inline std::string target_name(const ::testing::TestParamInfo<int64_t>& info) { return hwy::TargetName(info.param); }

// Row lengths: 0 … two vectors of 16 lanes and one more, then sizes that fill the four chains of a sum.
inline std::vector<int64_t> lengths() {
  std::vector<int64_t> all;
  for (int64_t n = 0; n <= 33; ++n) all.push_back(n);
  for (int64_t n : {47, 63, 64, 65, 100, 128, 131}) all.push_back(n);
  return all;
}

// A matrix in its own block of memory which ends with the last element of the last row, so that the address sanitizer sees any step beyond;
// the gaps between rows hold a marker. `offset` floats lie before the first row: 0 … 3 for the misalignments.
class Matrix {
 public:
  static constexpr float kMarker = -12345.5f;

  Matrix(int64_t rows, int64_t columns, int64_t gap, int64_t offset)
      : rows_(rows),
        columns_(columns),
        stride_(columns + gap),
        offset_(offset),
        memory_(static_cast<size_t>(rows ? offset + (rows - 1) * (columns + gap) + columns : offset), kMarker) {}

  Rows view() { return {memory_.data() + offset_, rows_, columns_, stride_}; }
  float& at(int64_t r, int64_t c) { return view().row(r)[c]; }

  Matrix& fill(float value) {
    for (int64_t r = 0; r < rows_; ++r) std::fill_n(view().row(r), columns_, value);
    return *this;
  }
  Matrix& fill_normal(uint64_t key, double scale = 1) {
    Rng rng(key);
    for (int64_t r = 0; r < rows_; ++r) {
      for (int64_t c = 0; c < columns_; ++c) at(r, c) = static_cast<float>(rng.normal() * scale);
    }
    return *this;
  }
  // What lies outside the rows is as it was.
  bool gaps_untouched() {
    for (size_t i = 0; i < memory_.size(); ++i) {
      const int64_t within = static_cast<int64_t>(i) - offset_;
      const bool inside = within >= 0 && within % std::max<int64_t>(stride_, 1) < columns_;
      if (!inside && memory_[i] != kMarker) return false;
    }
    return true;
  }

 private:
  int64_t rows_, columns_, stride_, offset_;
  std::vector<float> memory_;
};

// |a - b| <= tolerance + relative·|b| for every element; NaN equals NaN. Shapes are compared by the caller's views.
inline ::testing::AssertionResult close(ConstRows actual, ConstRows expected, double relative, double absolute) {
  if (actual.rows != expected.rows || actual.columns != expected.columns) return ::testing::AssertionFailure() << "shapes differ";
  for (int64_t r = 0; r < actual.rows; ++r) {
    for (int64_t c = 0; c < actual.columns; ++c) {
      const double a = actual.row(r)[c], b = expected.row(r)[c];
      if (std::isnan(a) && std::isnan(b)) continue;
      if (a == b) continue;
      if (!(std::abs(a - b) <= absolute + relative * std::abs(b))) {
        return ::testing::AssertionFailure() << "[" << r << ", " << c << "] of " << actual.columns << " columns: " << a << ", expected "
                                             << b;
      }
    }
  }
  return ::testing::AssertionSuccess();
}
inline ::testing::AssertionResult same_bits(ConstRows a, ConstRows b) {
  if (a.rows != b.rows || a.columns != b.columns) return ::testing::AssertionFailure() << "shapes differ";
  for (int64_t r = 0; r < a.rows; ++r) {
    if (a.columns && std::memcmp(a.row(r), b.row(r), static_cast<size_t>(a.columns) * sizeof(float)) != 0) {
      return ::testing::AssertionFailure() << "row " << r << " of " << a.columns << " columns differs";
    }
  }
  return ::testing::AssertionSuccess();
}

constexpr double kEpsilon = std::numeric_limits<float>::epsilon();

// A matrix packed from golden numbers.
inline Matrix matrix_of(const std::vector<double>& values, int64_t columns, int64_t gap = 1, int64_t offset = 1) {
  Matrix m(static_cast<int64_t>(values.size()) / columns, columns, gap, offset);
  for (size_t i = 0; i < values.size(); ++i) {
    m.at(static_cast<int64_t>(i) / columns, static_cast<int64_t>(i) % columns) = static_cast<float>(values[i]);
  }
  return m;
}

}  // namespace jumok::kernels
