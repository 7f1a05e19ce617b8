#include "attention/local.h"

#include <algorithm>
#include <cmath>

#include "autograd/rows.h"

namespace jumok {
namespace {

// Calls use(query row, S) for the rows of every sentence.
template <typename Use>
void for_each_query(const AttentionRows& rows, Use use) {
  for (size_t b = 0; b < rows.query_begin.size(); ++b) {
    for (int32_t i = 0; i < rows.query_length[b]; ++i) use(static_cast<size_t>(rows.query_begin[b] + i), rows.key_length[b]);
  }
}

}  // namespace

KeyRanges monotonic_window(Arena& arena, const AttentionRows& rows, std::span<const int32_t> position, int half_width) {
  const auto n = static_cast<int64_t>(position.size());
  const std::span<int32_t> first = arena.allocate<int32_t>(n), last = arena.allocate<int32_t>(n);
  for_each_query(rows, [&](size_t row, int32_t length) {
    const int32_t centre = std::min(position[row], length - 1);
    first[row] = std::max(0, centre - half_width);
    last[row] = centre + half_width + 1;
  });
  return {first, last};
}

KeyRanges window_around(Arena& arena, const Tensor& centre, int half_width) {
  const std::span<int32_t> first = arena.allocate<int32_t>(centre.rows), last = arena.allocate<int32_t>(centre.rows);
  for (int64_t r = 0; r < centre.rows; ++r) {
    const float p = centre.row(r)[0], d = static_cast<float>(half_width);
    const bool is_number = std::isfinite(p);  // damaged parameters: nothing is seen, and nothing is read out of bounds
    first[static_cast<size_t>(r)] = is_number ? std::max(0, static_cast<int32_t>(std::ceil(p - d))) : 0;
    last[static_cast<size_t>(r)] = is_number ? static_cast<int32_t>(std::floor(p + d)) + 1 : 0;
  }
  return {first, last};
}

CentrePredictor CentrePredictor::make(ParameterLayout& layout, const std::string& name, int64_t width) {
  return {Linear::without_bias(layout, name + ".hidden", width, width), Linear::without_bias(layout, name + ".score", width, 1)};
}

Variable predict_centre(Context& context, const CentreWeights& weights, const Variable& query, const AttentionRows& rows) {
  const Variable h = linear(context, query, weights.hidden, kernels::Activation::kTanh);
  const std::span<float> lengths = context.arena.allocate<float>(query.value.rows);
  for_each_query(rows, [&](size_t row, int32_t length) { lengths[row] = static_cast<float>(length); });
  return scale_rows(context, linear(context, h, weights.score, kernels::Activation::kSigmoid), lengths);
}

}  // namespace jumok
