#include "autograd/split.h"

#include <algorithm>

namespace jumok {

std::vector<Variable> split_columns(Context& context, const Variable& x, int parts) {
  const int64_t width = x.value.columns / parts;
  std::vector<Variable> out(parts);
  for (int i = 0; i < parts; ++i) out[i].value = x.value.column_slice(i * width, width);
  if (context.tape == nullptr || x.gradient == nullptr) return out;
  x.gradient->tensor = context.arena.tensor(x.value.rows, x.value.columns);
  for (int i = 0; i < parts; ++i) {
    out[i].gradient = new (context.arena.allocate<Gradient>(1).data()) Gradient{x.gradient->tensor.column_slice(i * width, width), false};
  }
  context.tape->record([x, out] {
    x.gradient->written = std::any_of(out.begin(), out.end(), [](const Variable& v) { return v.gradient->written; });
    if (!x.gradient->written) return;
    for (const Variable& v : out) {
      if (!v.gradient->written) kernels::clear(v.gradient->tensor);
    }
  });
  return out;
}

}  // namespace jumok
