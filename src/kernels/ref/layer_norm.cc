#include "kernels/ref/layer_norm.h"

#include <cmath>
#include <vector>

#include "kernels/ref/elementwise.h"

namespace jumok::kernels::ref {

void add_norm_forward(const AddNorm& in, Rows s, Rows y, float* mean, float* rstd) {
  const int64_t columns = y.columns;
  std::vector<double> sum(static_cast<size_t>(columns));
  for (int64_t r = 0; r < y.rows; ++r) {
    double m = 0, variance = 0;
    for (int64_t c = 0; c < columns; ++c) {
      sum[c] = in.x.row(r)[c] + (in.f.data ? in.f.row(r)[c] * dropout_factor(in.dropout, r, c) : 0.0);
      m += sum[c] / static_cast<double>(columns);
    }
    for (int64_t c = 0; c < columns; ++c) variance += (sum[c] - m) * (sum[c] - m) / static_cast<double>(columns);
    const double scale = 1 / std::sqrt(variance + in.epsilon);
    for (int64_t c = 0; c < columns; ++c) {
      if (s.data) s.row(r)[c] = static_cast<float>(sum[c]);
      y.row(r)[c] = static_cast<float>((sum[c] - m) * scale * in.gamma[c] + in.beta[c]);
    }
    if (mean) mean[r] = static_cast<float>(m);
    if (rstd) rstd[r] = static_cast<float>(scale);
  }
}

void add_norm_backward(const AddNorm& in, ConstRows s, const float* mean, const float* rstd, const AddNormGradient& gradient) {
  const double columns = static_cast<double>(s.columns);
  for (int64_t r = 0; r < s.rows; ++r) {
    const float* dy = gradient.dy.row(r);
    const auto normal = [&](int64_t c) { return (static_cast<double>(s.row(r)[c]) - mean[r]) * rstd[r]; };
    // mean over c of g = dy gamma and of g n, n the normalised value
    double g = 0, gn = 0;
    for (int64_t c = 0; c < s.columns; ++c) {
      g += static_cast<double>(dy[c]) * in.gamma[c] / columns;
      gn += static_cast<double>(dy[c]) * in.gamma[c] * normal(c) / columns;
    }
    for (int64_t c = 0; c < s.columns; ++c) {
      if (gradient.dgamma) gradient.dgamma[c] += static_cast<float>(dy[c] * normal(c));
      if (gradient.dbeta) gradient.dbeta[c] += dy[c];
      double total = rstd[r] * (static_cast<double>(dy[c]) * in.gamma[c] - g - normal(c) * gn);
      if (gradient.ds.data) total += gradient.ds.row(r)[c];
      const double dropped = total * dropout_factor(in.dropout, r, c);
      if (gradient.dx.data) gradient.dx.row(r)[c] = static_cast<float>(total + (gradient.accumulate_x ? gradient.dx.row(r)[c] : 0.0));
      if (gradient.df.data) gradient.df.row(r)[c] = static_cast<float>(dropped + (gradient.accumulate_f ? gradient.df.row(r)[c] : 0.0));
    }
  }
}

}  // namespace jumok::kernels::ref
