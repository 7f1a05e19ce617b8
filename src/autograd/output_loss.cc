#include "autograd/output_loss.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "gemm/gemm.h"
#include "kernels/elementwise.h"
#include "kernels/softmax.h"

namespace jumok {
namespace {

void check_targets(const OutputLossInput& in) {
  for (size_t n = 0; n < in.targets.size(); ++n) {
    const int32_t t = in.targets[n];
    check(t >= 0 && t < in.weight.rows, "target symbol {} at row {}: expected one in [0, {})", t, n, in.weight.rows);
  }
}

// logits [rows, V] = hidden_chunk Wᵀ + b
void chunk_logits(const Context& context, const OutputLossInput& in, int64_t begin, Tensor logits) {
  if (in.bias.exists()) kernels::broadcast_row(context.value(in.bias).data, logits);
  gemm::multiply_nt(in.hidden.value.row_slice(begin, logits.rows), context.value(in.weight), logits, in.bias.exists());
}

// With G = d loss/d logits: dhidden = G W, dW += Gᵀ hidden, db += Σ G
void chunk_backward(const Context& context, const OutputLossInput& in, int64_t begin, Tensor g, const GradientSink& dhidden) {
  gemm::multiply_nn(g, context.value(in.weight), dhidden.tensor.row_slice(begin, g.rows), dhidden.accumulate);
  gemm::multiply_tn(g, in.hidden.value.row_slice(begin, g.rows), context.gradient(in.weight), true);
  if (in.bias.exists()) kernels::accumulate_columns(g, context.gradient(in.bias).data);
}

// The logits of symbols that may not be produced become -inf before the normalisation, as in a search; not that of a row's own target.
void forbid(const OutputLossInput& in, int64_t begin, Tensor logits) {
  for (int64_t r = 0; r < logits.rows; ++r) {
    for (const int32_t symbol : in.forbidden) {
      if (symbol != in.targets[begin + r]) logits.row(r)[symbol] = -std::numeric_limits<float>::infinity();
    }
  }
}

// The rows of a part when `rows` are cut into as few parts of at most `most` as there can be, all about as large.
int64_t even_part(int64_t rows, int64_t most) {
  const int64_t parts = std::max<int64_t>(1, (rows + most - 1) / most);
  return (rows + parts - 1) / parts;
}

// Calls use(begin, logits) for each chunk of rows.
template <typename Use>
void for_each_chunk(Context& context, const OutputLossInput& in, Use use) {
  const int64_t rows = in.hidden.value.rows;
  const Tensor buffer = context.arena.tensor(even_part(rows, output_chunk_rows(in.weight.rows)), in.weight.rows);
  for (int64_t begin = 0; begin < rows; begin += buffer.rows) {
    const Tensor logits = buffer.row_slice(0, std::min(buffer.rows, rows - begin));
    chunk_logits(context, in, begin, logits);
    use(begin, logits);
  }
}

}  // namespace

int64_t output_chunk_rows(int64_t vocabulary) {
  constexpr int64_t kFewest = 144, kMost = 576, kFloats = 5 << 20;
  return std::clamp(kFloats / vocabulary, kFewest, kMost);
}

OutputLoss output_loss(Context& context, const OutputLossInput& in) {
  const TimedPart time(context.profile, Part::kOutputLoss);
  check_targets(in);
  const bool recording = context.tape != nullptr;
  GradientSink dhidden;
  if (recording) dhidden = sink(context.arena, in.hidden);
  kernels::CrossEntropySums sums;
  for_each_chunk(context, in, [&](int64_t begin, Tensor logits) {
    kernels::cross_entropy(logits, in.targets.data() + begin, in.smoothing, recording, sums);
    if (recording) chunk_backward(context, in, begin, logits, dhidden);
  });
  return {sums.loss, sums.nll, in.hidden.value.rows};
}

void output_logits(Context& context, const OutputLossInput& in, float* logits) {
  chunk_logits(context, in, 0, {logits, in.hidden.value.rows, in.weight.rows, in.weight.rows});
}

void output_nll(Context& context, const OutputLossInput& in, float* nll) {
  check_targets(in);
  for_each_chunk(context, in, [&](int64_t begin, Tensor logits) {
    forbid(in, begin, logits);
    kernels::log_sum_exp(logits, nll + begin);
    for (int64_t r = 0; r < logits.rows; ++r) nll[begin + r] -= logits.row(r)[in.targets[begin + r]];
  });
}

}  // namespace jumok
