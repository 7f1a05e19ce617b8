// All operator tests that ONNX has for RNN, GRU and LSTM.
#include <gtest/gtest.h>

#include "autograd/linear.h"
#include "autograd/recurrent.h"
#include "named_matrices.h"

namespace jumok {
namespace {

using kernels::Cell;

// The n-th gate of ours in ONNX's order: r z n in z r h, and i f g o in i o f c.
const std::vector<std::vector<int64_t>> kGateOrder = {{0}, {}, {1, 0, 2}, {0, 2, 3, 1}};

class OnnxCase {
 public:
  OnnxCase(std::map<std::string, NamedMatrix> matrices) : all_(std::move(matrices)) {
    const std::vector<float>& s = all_.at("shape").values;
    gates_ = static_cast<int64_t>(s[0]), directions_ = static_cast<int64_t>(s[1]), reversed_ = s[2] != 0, batch_first_ = s[3] != 0;
    steps_ = static_cast<int64_t>(s[4]), batch_ = static_cast<int64_t>(s[5]), width_ = static_cast<int64_t>(s[6]);
  }
  bool has(const std::string& name) const { return all_.count(name) > 0; }

  // Runs direction k and compares what the case has of it.
  void check_direction(int64_t k) {
    Arena arena;
    Context context{arena};
    const Parameter w = place(k, "W"), r = place(k, "R"), wb = place_bias(k, 0), rb = place_bias(k, 1);
    context.parameters = values_.data();
    std::vector<float> x(steps_ * batch_ * w.columns);
    std::vector<int32_t> begin, length(batch_, static_cast<int32_t>(steps_));
    for (int64_t b = 0; b < batch_; ++b) {
      begin.push_back(static_cast<int32_t>(b * steps_));
      for (int64_t t = 0; t < steps_; ++t) {
        for (int64_t c = 0; c < w.columns; ++c) x[(b * steps_ + t) * w.columns + c] = all_.at("X").at(row(b, t), c);
      }
    }
    const Variable gates = linear(context, {{x.data(), steps_ * batch_, w.columns, w.columns}, nullptr}, w, wb);
    RecurrentInput in{gates, r, rb, {}, {}, begin, length, cell()};
    in.reset_after = false;  // linear_before_reset is 0 in all of them
    in.reversed = reversed_ || k == 1;
    const RecurrentOutput out = recurrent(context, in);
    for (int64_t b = 0; b < batch_; ++b) {
      if (has("Y")) {
        for (int64_t t = 0; t < steps_; ++t) expect_row(out.h.value, b * steps_ + t, "Y", output_row(k, b, t));
      }
      const int64_t last = batch_first_ ? b * directions_ + k : k * batch_ + b;
      expect_row(out.last_h.value, b, "Y_h", last);
      if (has("Y_c")) expect_row(out.last_c.value, b, "Y_c", last);
    }
  }
  int64_t directions() const { return directions_; }

 private:
  Cell cell() const { return gates_ == 1 ? Cell::kTanh : gates_ == 3 ? Cell::kGru : Cell::kLstm; }
  int64_t row(int64_t b, int64_t t) const { return batch_first_ ? b * steps_ + t : t * batch_ + b; }
  int64_t output_row(int64_t k, int64_t b, int64_t t) const {  // Y [T, K, B, D], or [B, T, K, D] when batch first
    return batch_first_ ? (b * steps_ + t) * directions_ + k : (t * directions_ + k) * batch_ + b;
  }
  // Direction k of a weight, its gates in our order.
  Parameter place(int64_t k, const std::string& name) {
    const NamedMatrix& m = all_.at(name);
    const Parameter p{static_cast<int64_t>(values_.size()), gates_ * width_, m.columns, m.columns};
    for (const int64_t gate : kGateOrder[gates_ - 1]) {
      const auto begin = m.values.begin() + (k * gates_ + gate) * width_ * m.columns;
      values_.insert(values_.end(), begin, begin + width_ * m.columns);
    }
    return p;
  }
  Parameter place_bias(int64_t k, int64_t half) {
    if (!has("B")) return {};
    const Parameter p{static_cast<int64_t>(values_.size()), 1, gates_ * width_, gates_ * width_};
    for (const int64_t gate : kGateOrder[gates_ - 1]) {
      const auto begin = all_.at("B").values.begin() + ((k * 2 + half) * gates_ + gate) * width_;
      values_.insert(values_.end(), begin, begin + width_);
    }
    return p;
  }
  void expect_row(const Tensor& actual, int64_t r, const std::string& name, int64_t expected) const {
    for (int64_t c = 0; c < width_; ++c) EXPECT_NEAR(actual.row(r)[c], all_.at(name).at(expected, c), 1e-5) << name << ", row " << expected;
  }

  std::map<std::string, NamedMatrix> all_;
  std::vector<float> values_;
  int64_t gates_, directions_, steps_, batch_, width_;
  bool reversed_, batch_first_;
};

TEST(OnnxRecurrent, EveryOperatorTestOfRnnGruAndLstmWithoutPeepholes) {
  std::map<std::string, std::map<std::string, NamedMatrix>> cases;
  for (const auto& [name, matrix] : read_named_matrices(JUMOK_TEST_DATA "/onnx_recurrent.txt")) {
    const size_t slash = name.find('/');
    cases[name.substr(0, slash)][name.substr(slash + 1)] = matrix;
  }
  EXPECT_EQ(cases.size(), 18u);
  for (const auto& [name, matrices] : cases) {
    SCOPED_TRACE(name);
    OnnxCase one(matrices);
    EXPECT_EQ(one.has("P"), name == "lstm_with_peepholes");
    if (one.has("P")) continue;  // our LSTM has no peepholes, as PyTorch's and cuDNN's have none
    for (int64_t k = 0; k < one.directions(); ++k) one.check_direction(k);
  }
}

}  // namespace
}  // namespace jumok
