#include "autograd/embedding.h"

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

}  // namespace

Variable embedding(Context& context, const EmbeddingInput& in) {
  const TimedPart time(context.profile, Part::kEmbedding);
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
