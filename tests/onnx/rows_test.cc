// ONNX's LayerNormalization, Softmax, LogSoftmax and SoftmaxCrossEntropyLoss through the row kernels. Where the operator works on another
// axis than the last, the test brings that axis to the end and back: the kernels know rows only.
#include <algorithm>
#include <limits>

#include "kernels/layer_norm.h"
#include "kernels/softmax.h"
#include "onnx_case.h"

namespace jumok::onnx {
namespace {

int64_t axis_of(const Case& c, int64_t rank, int64_t otherwise) {
  const int64_t axis = c.attribute<int64_t>("axis", otherwise);
  return axis < 0 ? axis + rank : axis;
}

// [outer, axis, inner] -> [outer · inner, axis]; `back`: the other way.
std::vector<float> axis_last(const std::vector<float>& x, const Tensor& like, int64_t axis, bool back) {
  const int64_t n = like.dim(axis), inner = like.size_from(axis + 1, like.rank()), outer = like.size_from(0, axis);
  std::vector<float> y(x.size());
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      for (int64_t a = 0; a < n; ++a) {
        const auto row = static_cast<size_t>((o * inner + i) * n + a), column = static_cast<size_t>((o * n + a) * inner + i);
        back ? y[column] = x[row] : y[row] = x[column];
      }
    }
  }
  return y;
}

kernels::Rows rows_of(std::vector<float>& x, int64_t columns) {
  return {x.data(), static_cast<int64_t>(x.size()) / columns, columns, columns};
}

// x - lse(x) of rows moved so that their largest value is 0: a log-sum-exp near 10 000 would be known to 1e-3 only.
std::vector<float> log_softmax(std::vector<float> x, int64_t columns) {
  const kernels::Rows rows = rows_of(x, columns);
  for (int64_t r = 0; r < rows.rows; ++r) {
    const float largest = *std::max_element(rows.row(r), rows.row(r) + columns);
    for (int64_t c = 0; c < columns; ++c) rows.row(r)[c] -= largest;
  }
  std::vector<float> lse(static_cast<size_t>(rows.rows));
  kernels::log_sum_exp(rows, lse.data());
  for (size_t i = 0; i < x.size(); ++i) x[i] -= lse[i / static_cast<size_t>(columns)];
  return x;
}

TEST(Onnx, LayerNormalization) {
  const SafetensorsFile file = data_file("layer_norm");
  const std::vector<Case> cases = cases_of("LayerNormalization", file);
  EXPECT_EQ(cases.size(), 13u);
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name());
    Tensor x = c.input("X");
    const Tensor w = c.input("W"), b = c.input("B");
    const int64_t columns = x.size_from(axis_of(c, x.rank(), -1), x.rank());
    const kernels::Rows rows = rows_of(x.values, columns);
    std::vector<float> y(x.values.size()), mean(static_cast<size_t>(rows.rows)), rstd(mean.size());
    kernels::AddNorm in;
    in.x = rows;
    in.gamma = w.values.data();
    in.beta = b.values.data();
    in.epsilon = static_cast<float>(c.attribute<double>("epsilon", 1e-5));
    kernels::add_norm_forward(in, {}, rows_of(y, columns), mean.data(), rstd.data());
    expect_values(y, c.output("Y"), "Y");
    expect_values(mean, c.output("Mean"), "Mean");
    expect_values(rstd, c.output("InvStdDev"), "InvStdDev");
  }
}

TEST(Onnx, Softmax) {
  const SafetensorsFile file = data_file("softmax");
  const std::vector<Case> cases = cases_of("Softmax", file);
  EXPECT_EQ(cases.size(), 2u);
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name());
    const Tensor x = c.input("x");
    const int64_t axis = axis_of(c, x.rank(), -1);
    std::vector<float> y = axis_last(x.values, x, axis, false);
    kernels::softmax(rows_of(y, x.dim(axis)), rows_of(y, x.dim(axis)));
    expect_values(axis_last(y, x, axis, true), c.output("y"), "y");
  }
}

TEST(Onnx, LogSoftmax) {
  const SafetensorsFile file = data_file("log_softmax");
  const std::vector<Case> cases = cases_of("LogSoftmax", file);
  EXPECT_EQ(cases.size(), 5u);
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name());
    const Tensor x = c.input("x");
    const int64_t axis = axis_of(c, x.rank(), -1);
    const std::vector<float> y = log_softmax(axis_last(x.values, x, axis, false), x.dim(axis));
    expect_values(axis_last(y, x, axis, true), c.output("y"), "y");
  }
}

// -log p of each row's label; 0 where the label is not counted. The kernel takes rows that count alone (a batch stores no others), so the
// class weights, the ignored label and the reduction are the caller's.
std::vector<float> losses(std::vector<float> logits, int64_t classes, const std::vector<int64_t>& labels, int64_t ignored) {
  std::vector<float> loss(labels.size());
  for (size_t n = 0; n < labels.size(); ++n) {
    if (labels[n] == ignored) continue;
    const auto label = static_cast<int32_t>(labels[n]);
    kernels::CrossEntropySums sums;
    kernels::cross_entropy({logits.data() + static_cast<int64_t>(n) * classes, 1, classes, classes}, &label, 0.0f, false, sums);
    EXPECT_EQ(sums.loss, sums.nll);
    loss[n] = static_cast<float>(sums.nll);
  }
  return loss;
}

TEST(Onnx, SoftmaxCrossEntropyLoss) {
  const SafetensorsFile file = data_file("cross_entropy");
  const std::vector<Case> cases = cases_of("SoftmaxCrossEntropyLoss", file);
  EXPECT_EQ(cases.size(), 14u);
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name());
    const Tensor x = c.input("x"), y = c.input("y");
    const int64_t classes = x.dim(1), ignored = c.attribute<int64_t>("ignore_index", std::numeric_limits<int64_t>::min());
    const std::vector<float> logits = axis_last(x.values, x, 1, false);
    std::vector<float> loss = losses(logits, classes, y.integers, ignored);
    const Tensor w = c.has_input("w") ? c.input("w") : Tensor{{}, std::vector<float>(static_cast<size_t>(classes), 1.0f), {}};
    double sum = 0, weight = 0;
    for (size_t n = 0; n < loss.size(); ++n) {
      const float of_label = y.integers[n] == ignored ? 0.0f : w.values[static_cast<size_t>(y.integers[n])];
      sum += loss[n] *= of_label;
      weight += of_label;
    }
    const std::string reduction = c.attribute<std::string>("reduction", "mean");
    if (reduction != "none") loss = {static_cast<float>(reduction == "sum" ? sum : sum / weight)};
    expect_values(loss, c.output("z"), "z");
    if (c.has_output("log_prob")) expect_values(axis_last(log_softmax(logits, classes), x, 1, true), c.output("log_prob"), "log_prob");
  }
}

}  // namespace
}  // namespace jumok::onnx
