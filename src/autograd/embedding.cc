#include "autograd/embedding.h"

#include "base/error.h"
#include "kernels/embedding.h"

namespace jumok {
namespace {

kernels::Embedding arguments(const Context& context, const EmbeddingInput& in) {
  kernels::Embedding a;
  a.table = context.value(in.table);
  if (in.learned_positions.exists()) a.positions = context.value(in.learned_positions);
  if (in.fixed_positions) a.positions = in.fixed_positions;
  a.ids = in.ids.data();
  a.position = in.position.data();
  a.scale = in.scale;
  a.dropout = in.dropout;
  return a;
}

// Rows of a table are read by number: a symbol of another vocabulary, or a sentence longer than the positions, must not read past its end.
void check_range(std::span<const int32_t> numbers, int64_t limit, const char* what) {
  for (size_t n = 0; n < numbers.size(); ++n) {
    if (numbers[n] < 0 || numbers[n] >= limit) fail("{} {} at row {}: expected one in [0, {})", what, numbers[n], n, limit);
  }
}

}  // namespace

Variable embedding(Context& context, const EmbeddingInput& in) {
  const TimedPart time(context.profile, Part::kEmbedding);
  check_range(in.ids, in.table.rows, "symbol");
  if (in.learned_positions.exists()) check_range(in.position, in.learned_positions.rows, "position");
  if (in.fixed_positions) check_range(in.position, in.fixed_positions.rows, "position");
  const Variable y = context.result(static_cast<int64_t>(in.ids.size()), in.table.columns);
  kernels::embedding_forward(arguments(context, in), y.value);
  if (context.tape != nullptr) {
    context.tape->record([context, in, y] {
      if (!y.gradient->written) return;
      const TimedPart time(context.profile, Part::kEmbedding);
      const Tensor dpositions = in.learned_positions.exists() ? context.gradient(in.learned_positions) : Tensor();
      kernels::embedding_backward(arguments(context, in), y.gradient->tensor, context.gradient(in.table), dpositions);
    });
  }
  return y;
}

}  // namespace jumok
