#include "autograd/rows.h"

#include <cstring>

#include "kernels/elementwise.h"

namespace jumok {
namespace {

void copy_row(const float* from, float* to, int64_t columns) { std::memcpy(to, from, sizeof(float) * static_cast<size_t>(columns)); }

// The gradient of `v` for a reader of some of its rows or columns, that adds: what nobody wrote yet is zero.
Tensor sink_for_part(Arena& arena, const Variable& v) {
  const GradientSink s = sink(arena, v);
  if (!s.accumulate) kernels::clear(s.tensor);
  return s.tensor;
}

// The gradient of y goes to x as it is.
void pass_on(Arena& arena, const Tensor& dy, const Variable& x) {
  if (x.gradient == nullptr) return;
  const GradientSink dx = sink(arena, x);
  if (dx.accumulate) {
    kernels::accumulate(dy, dx.tensor);
  } else {
    for (int64_t r = 0; r < dy.rows; ++r) copy_row(dy.row(r), dx.tensor.row(r), dy.columns);
  }
}

// dx[index_r] += dy_r
void add_rows(const Tensor& dy, std::span<const int32_t> index, const Tensor& dx) {
  for (size_t r = 0; r < index.size(); ++r) kernels::accumulate(dy.row_slice(static_cast<int64_t>(r), 1), dx.row_slice(index[r], 1));
}

}  // namespace

Variable gather_rows(Context& context, const Variable& x, std::span<const int32_t> index) {
  const Variable y = context.result(static_cast<int64_t>(index.size()), x.value.columns);
  for (size_t r = 0; r < index.size(); ++r) copy_row(x.value.row(index[r]), y.value.row(static_cast<int64_t>(r)), x.value.columns);
  if (context.tape != nullptr && x.gradient != nullptr) {
    context.tape->record([&arena = context.arena, x, y, index] {
      if (y.gradient->written) add_rows(y.gradient->tensor, index, sink_for_part(arena, x));
    });
  }
  return y;
}

Variable scatter_rows(Context& context, int64_t rows, const std::vector<RowBlock>& blocks) {
  const int64_t columns = blocks.front().x.value.columns;
  const Variable y = context.result(rows, columns);
  for (const RowBlock& b : blocks) {
    for (size_t r = 0; r < b.index.size(); ++r) copy_row(b.x.value.row(static_cast<int64_t>(r)), y.value.row(b.index[r]), columns);
  }
  if (context.tape != nullptr) {
    context.tape->record([&arena = context.arena, blocks, y] {
      if (!y.gradient->written) return;
      for (const RowBlock& b : blocks) {
        if (b.x.gradient == nullptr) continue;
        const Tensor dx = sink_for_part(arena, b.x);
        for (size_t r = 0; r < b.index.size(); ++r) {
          kernels::accumulate(y.gradient->tensor.row_slice(b.index[r], 1), dx.row_slice(static_cast<int64_t>(r), 1));
        }
      }
    });
  }
  return y;
}

Variable first_rows(Context& context, const Variable& x, int64_t rows) {
  if (rows == x.value.rows) return x;
  Variable y;
  y.value = x.value.row_slice(0, rows);
  if (context.tape == nullptr || x.gradient == nullptr) return y;
  y.gradient = new (context.arena.allocate<Gradient>(1).data()) Gradient();
  context.tape->record([&arena = context.arena, x, y, rows] {
    if (y.gradient->written) kernels::accumulate(y.gradient->tensor, sink_for_part(arena, x).row_slice(0, rows));
  });
  return y;
}

Variable branch(Context& context, const Variable& x) {
  if (context.tape == nullptr || x.gradient == nullptr) return x;
  const Variable y{x.value, new (context.arena.allocate<Gradient>(1).data()) Gradient()};
  context.tape->record([&arena = context.arena, x, y] {
    if (y.gradient->written) pass_on(arena, y.gradient->tensor, x);
  });
  return y;
}

Variable concat_columns(Context& context, const std::vector<Variable>& parts) {
  if (parts.size() == 1) return parts.front();
  int64_t columns = 0;
  for (const Variable& p : parts) columns += p.value.columns;
  const Variable y = context.result(parts.front().value.rows, columns);
  int64_t begin = 0;
  for (const Variable& p : parts) {
    const Tensor place = y.value.column_slice(begin, p.value.columns);
    for (int64_t r = 0; r < place.rows; ++r) copy_row(p.value.row(r), place.row(r), place.columns);
    begin += place.columns;
  }
  if (context.tape != nullptr) {
    context.tape->record([&arena = context.arena, parts, y] {
      if (!y.gradient->written) return;
      int64_t begin = 0;
      for (const Variable& p : parts) {
        pass_on(arena, y.gradient->tensor.column_slice(begin, p.value.columns), p);
        begin += p.value.columns;
      }
    });
  }
  return y;
}

Variable sum(Context& context, const Variable& a, const Variable& b) {
  const Variable y = context.result(a.value.rows, a.value.columns);
  kernels::add(a.value, b.value, y.value);
  if (context.tape != nullptr) {
    context.tape->record([&arena = context.arena, a, b, y] {
      if (!y.gradient->written) return;
      pass_on(arena, y.gradient->tensor, a);
      pass_on(arena, y.gradient->tensor, b);
    });
  }
  return y;
}

Variable scale_rows(Context& context, const Variable& x, std::span<const float> scale) {
  const Variable y = context.result(x.value.rows, x.value.columns);
  const auto scaled = [scale](const Tensor& from, const Tensor& to) {
    for (int64_t r = 0; r < to.rows; ++r) {
      for (int64_t c = 0; c < to.columns; ++c) to.row(r)[c] = scale[static_cast<size_t>(r)] * from.row(r)[c];
    }
  };
  scaled(x.value, y.value);
  if (context.tape != nullptr && x.gradient != nullptr) {
    context.tape->record([&arena = context.arena, x, y, scaled] {
      if (!y.gradient->written) return;
      scaled(y.gradient->tensor, y.gradient->tensor);  // in place: y's gradient has no other reader
      pass_on(arena, y.gradient->tensor, x);
    });
  }
  return y;
}

Variable drop(Context& context, const Variable& x, const kernels::Dropout& dropout) {
  if (!dropout.active()) return x;
  const Variable y = context.result(x.value.rows, x.value.columns);
  kernels::dropout(dropout, x.value, y.value);
  if (context.tape != nullptr && x.gradient != nullptr) {
    context.tape->record([&arena = context.arena, x, y, dropout] {
      if (!y.gradient->written) return;
      kernels::dropout(dropout, y.gradient->tensor, y.gradient->tensor);  // in place: y's gradient has no other reader
      pass_on(arena, y.gradient->tensor, x);
    });
  }
  return y;
}

}  // namespace jumok
