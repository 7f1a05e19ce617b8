#include "autograd/recurrent.h"

#include <algorithm>
#include <cassert>

#include "autograd/time_major.h"
#include "base/error.h"
#include "gemm/gemm.h"

namespace jumok {
using kernels::Cell;
using kernels::CellGradient;
using kernels::CellStep;
namespace {

bool resets_before(Cell cell, bool reset_after) { return cell == Cell::kGru && !reset_after; }

// The states between steps, one block of time-major rows: those that step t reads begin at row first[t], those it writes at first[t + 1].
// The rows of sentences that end with step t lie behind the others there; step t + 1 writes over them once they are copied to the last
// states. Without a tape only one step's states are kept; a single step reads the initial and writes the last states themselves.
struct States {
  Tensor before, after;
  bool stacked = false;

  Tensor read(const TimeMajor& time, int64_t t) const { return before.row_slice(stacked ? time.first[t] : 0, time.alive(t)); }
  Tensor write(const TimeMajor& time, int64_t t) const { return after.row_slice(stacked ? time.first[t + 1] : 0, time.alive(t)); }
};

// One call: what its forward makes and its backward needs.
struct Run {
  Cell cell;
  bool reset_after;
  Variable x, initial_h, initial_c;
  Parameter weight, bias;
  RecurrentWeightSum sum;
  Tensor state_gradient;
  RecurrentOutput out;
  bool one_variable = false;  // out.h is out.last_h
  TimeMajor time;
  States h, c;
  Tensor kept;  // [time-major rows (of one step without a tape), kept·D]

  int64_t width() const { return weight.columns; }
  bool resets_before() const { return jumok::resets_before(cell, reset_after); }
  // Gates whose product is with h: all but the n of a GRU that resets before.
  Parameter state_weight() const { return resets_before() ? weight.row_slice(0, 2 * width()) : weight; }
  Parameter candidate_weight() const { return weight.row_slice(2 * width(), width()); }

  CellStep step(const Context& context, int64_t t) const {
    CellStep s;
    s.cell = cell;
    s.reset_after = reset_after;
    s.row = time.row.data() + time.first[t];
    s.x = x.value;
    s.bias = bias.exists() ? context.value(bias).data : nullptr;
    s.h = h.read(time, t), s.h_next = h.write(time, t);
    if (cell == Cell::kLstm) s.c = c.read(time, t), s.c_next = c.write(time, t);
    s.kept = kept.row_slice(h.stacked ? time.first[t] : 0, time.alive(t));
    if (!one_variable) s.out = out.h.value;
    return s;
  }
};

void check_input(const RecurrentInput& in) {
  const int64_t width = in.weight.columns, gates = kernels::gates(in.cell) * width, sentences = static_cast<int64_t>(in.length.size());
  check(in.weight.rows == gates, "recurrent layer of width {}: expected a weight of {} rows, found {}", width, gates, in.weight.rows);
  check(in.x.value.columns == gates, "recurrent layer of width {}: expected {} gate columns, found {}", width, gates, in.x.value.columns);
  check(!in.bias.exists() || in.bias.columns == gates, "recurrent layer of width {}: expected a bias of {} columns, found {}", width, gates,
        in.bias.columns);
  check(!in.initial_c.value || in.cell == Cell::kLstm, "recurrent layer: only the LSTM has a cell state, but an initial one was given");
  for (const Variable* v : {&in.initial_h, &in.initial_c}) {
    check(!v->value || (v->value.rows == sentences && v->value.columns == width),
          "recurrent layer: expected an initial state [{}, {}], found [{}, {}]", sentences, width, v->value.rows, v->value.columns);
  }
  check(!in.state_gradient || (in.state_gradient.rows == in.x.value.rows && in.state_gradient.columns == width),
        "recurrent layer: expected a place [{}, {}] for the states' gradient, found [{}, {}]", in.x.value.rows, width,
        in.state_gradient.rows, in.state_gradient.columns);
  check(!in.h.value || (in.h.value.rows == in.x.value.rows && in.h.value.columns == width),
        "recurrent layer: expected a place [{}, {}] for the states, found [{}, {}]", in.x.value.rows, width, in.h.value.rows,
        in.h.value.columns);
}

void copy_row(const float* from, int64_t columns, float* to) {
  from != nullptr ? std::copy_n(from, columns, to) : std::fill_n(to, columns, 0.0f);
}
const float* row_or_null(const Tensor& t, int64_t r) { return t ? t.row(r) : nullptr; }

// Room for the states, with the initial ones in it.
States make_states(const Context& context, const TimeMajor& time, const Tensor& initial, const Tensor& last) {
  const int64_t alive = time.alive(0), width = last.columns;
  States s;
  if (time.steps == 1 && time.ordered) {
    s.before = initial, s.after = last;
    if (!initial) kernels::clear(s.before = context.arena.tensor(alive, width));
    return s;
  }
  s.stacked = context.tape != nullptr;
  s.before = s.after = context.arena.tensor(s.stacked ? time.rows() + alive : alive, width);
  for (int64_t rank = 0; rank < alive; ++rank) copy_row(row_or_null(initial, time.order[rank]), width, s.before.row(rank));
  return s;
}

// Hands over the states of the sentences that end with step t; t = -1: of the empty ones.
void finish(const TimeMajor& time, int64_t t, const States& states, const Tensor& initial, const Tensor& last) {
  if (t < 0) {
    for (int64_t rank = time.alive(0); rank < last.rows; ++rank) {
      copy_row(row_or_null(initial, time.order[rank]), last.columns, last.row(time.order[rank]));
    }
    return;
  }
  const Tensor from = states.write(time, t);
  if (from.data == last.data) return;
  for (int64_t rank = time.alive(t + 1); rank < time.alive(t); ++rank) {
    std::copy_n(from.row(rank), last.columns, last.row(time.order[rank]));
  }
}

void finish_all(const Run& s, int64_t t) {
  finish(s.time, t, s.h, s.initial_h.value, s.out.last_h.value);
  if (s.cell == Cell::kLstm) finish(s.time, t, s.c, s.initial_c.value, s.out.last_c.value);
}

void forward_step(const Context& context, const Run& s, int64_t t) {
  const CellStep step = s.step(context, t);
  const int64_t width = s.width();
  const Tensor kept{step.kept.data, step.kept.rows, step.kept.columns, step.kept.stride};
  const auto product = [&](kernels::ConstRows a, const Parameter& weight, const Tensor& to) {
    const TimedPart time(context.profile, Part::kProducts);
    if (t == 0 && !s.initial_h.value) return kernels::clear(to);  // of a zero state
    gemm::multiply_nt(a, context.value(weight), to);
  };
  const Parameter weight = s.state_weight();
  product(step.h, weight, kept.column_slice(0, weight.rows));
  if (s.resets_before()) {
    kernels::cell_reset(step);
    product(kept.column_slice(2 * width, width), s.candidate_weight(), kept.column_slice(3 * width, width));
  }
  const TimedPart time(context.profile, Part::kActivation);
  kernels::cell_forward(step);
}

// The rows of the state's gradient that begin with step t: of the sentences that end there.
void start_rows(const TimeMajor& time, int64_t t, const Variable& last, const Tensor& d) {
  const Tensor dlast = last.gradient != nullptr && last.gradient->written ? last.gradient->tensor : Tensor();
  for (int64_t rank = time.alive(t + 1); rank < time.alive(t); ++rank)
    copy_row(row_or_null(dlast, time.order[rank]), d.columns, d.row(rank));
}

// The initial state's gradient: d of the sentences that had a step, the last state's of the others.
void finish_initial(Arena& arena, const TimeMajor& time, const Variable& initial, const Variable& last, const Tensor& d) {
  if (initial.gradient == nullptr) return;
  const Tensor dlast = last.gradient->written ? last.gradient->tensor : Tensor();
  const GradientSink to = sink(arena, initial);
  for (int64_t rank = 0; rank < to.tensor.rows; ++rank) {
    const int64_t b = time.order[rank];
    const float* from = rank < d.rows ? d.row(rank) : row_or_null(dlast, b);
    float* row = to.tensor.row(b);
    if (!to.accumulate) {
      copy_row(from, d.columns, row);
    } else if (from != nullptr) {
      for (int64_t c = 0; c < d.columns; ++c) row[c] += from[c];
    }
  }
}

// The gradients of the gates' products, time-major.
struct GateGradients {
  Tensor state, candidate, dreset;
};

GateGradients make_gate_gradients(const Context& context, const Run& s) {
  const int64_t rows = s.time.rows(), width = s.width();
  GateGradients g;
  g.state = s.sum.state.add(s.h.before.row_slice(0, rows));
  if (s.resets_before()) {
    g.candidate = s.sum.candidate.add(s.kept.column_slice(2 * width, width));
    g.dreset = context.arena.tensor(s.time.alive(0), width);
  }
  return g;
}

// d.dh holds what came through later states.
void keep_state_gradient(const Run& s, int64_t t, const CellGradient& d) {
  for (int64_t rank = 0; s.state_gradient && rank < s.time.alive(t); ++rank) {
    const int64_t row = s.time.row[s.time.first[t] + rank];
    float* to = s.state_gradient.row(row);
    std::copy_n(d.dh.row(rank), s.width(), to);
    for (int64_t c = 0; d.dout.data != nullptr && c < s.width(); ++c) to[c] += d.dout.row(row)[c];
  }
}

void backward_step(const Context& context, const Run& s, int64_t t, const GateGradients& gates, CellGradient d) {
  const CellStep step = s.step(context, t);
  const int64_t first = s.time.first[t], alive = s.time.alive(t);
  d.dgates = gates.state.row_slice(first, alive);
  d.dh.rows = d.dc.rows = alive;
  const auto product = [&](const kernels::Rows& dy, const Parameter& weight, const kernels::Rows& to, bool accumulate) {
    const TimedPart time(context.profile, Part::kProducts);
    gemm::multiply_nn(dy, context.value(weight), to, accumulate);
  };
  if (s.resets_before()) d.dcandidate = gates.candidate.row_slice(first, alive);
  {
    const TimedPart time(context.profile, Part::kActivation);
    kernels::cell_backward(step, d);
  }
  if (s.resets_before()) {
    const Tensor dreset = gates.dreset.row_slice(0, alive);
    product(d.dcandidate, s.candidate_weight(), dreset, false);
    d.dreset = dreset;
    const TimedPart time(context.profile, Part::kActivation);
    kernels::cell_reset_backward(step, d);
  }
  if (t > 0 || s.initial_h.gradient != nullptr) product(d.dgates, s.state_weight(), d.dh, s.cell == Cell::kGru);
}

void recurrent_backward(const Context& context, const Run& s) {
  if (s.state_gradient) kernels::clear(s.state_gradient);
  const auto written = [](const Variable& v) { return v.gradient != nullptr && v.gradient->written; };
  if (!written(s.out.h) && !written(s.out.last_h) && !written(s.out.last_c)) return;
  const bool is_lstm = s.cell == Cell::kLstm;
  const Tensor dh = context.arena.tensor(s.time.alive(0), s.width());
  const Tensor dc = is_lstm ? context.arena.tensor(s.time.alive(0), s.width()) : Tensor();
  CellGradient d;
  d.dh = dh, d.dc = dc;
  if (written(s.out.h) && !s.one_variable) d.dout = s.out.h.gradient->tensor;
  if (s.x.gradient != nullptr) {
    const GradientSink dx = sink(context.arena, s.x);
    d.dx = dx.tensor, d.accumulate = dx.accumulate;
    if (!dx.accumulate && s.time.rows() < dx.tensor.rows) kernels::clear(dx.tensor);
  }
  const GateGradients gates = make_gate_gradients(context, s);
  for (int64_t t = s.time.steps - 1; t >= 0; --t) {
    start_rows(s.time, t, s.out.last_h, dh);
    if (is_lstm) start_rows(s.time, t, s.out.last_c, dc);
    keep_state_gradient(s, t, d);
    backward_step(context, s, t, gates, d);
  }
  finish_initial(context.arena, s.time, s.initial_h, s.out.last_h, dh);
  if (is_lstm) finish_initial(context.arena, s.time, s.initial_c, s.out.last_c, dc);
}

// Places for the results. One step for every row in order: the states after it are the output.
void make_outputs(Context& context, const RecurrentInput& in, Run& s) {
  const int64_t sentences = static_cast<int64_t>(in.length.size()), rows = in.x.value.rows;
  s.out.last_h = context.result(sentences, s.width());
  if (s.cell == Cell::kLstm) s.out.last_c = context.result(sentences, s.width());
  bool in_order = s.time.steps == 1 && s.time.ordered && s.time.rows() == sentences && rows == sentences;
  for (int64_t b = 0; in_order && b < sentences; ++b) in_order = in.begin[b] == b;
  s.one_variable = in_order && !in.h.value;
  s.out.h = s.one_variable ? s.out.last_h : in.h.value ? in.h : context.result(rows, s.width());
  if (s.time.rows() < rows) kernels::clear(s.out.h.value);
}

}  // namespace

RecurrentWeightSum::RecurrentWeightSum(Context& context, const Parameter& weight, const Parameter& bias, Cell cell, bool reset_after) {
  if (!resets_before(cell, reset_after)) {
    state = DeferredWeight(context, weight, bias);
    return;
  }
  const int64_t width = weight.columns;
  const auto columns = [&](int64_t begin, int64_t n) { return bias.exists() ? Parameter{bias.offset + begin, 1, n, bias.stride} : bias; };
  state = DeferredWeight(context, weight.row_slice(0, 2 * width), columns(0, 2 * width));
  candidate = DeferredWeight(context, weight.row_slice(2 * width, width), columns(2 * width, width));
}

RecurrentOutput recurrent(Context& context, const RecurrentInput& in) {
  check_input(in);
  Run s{in.cell, in.reset_after, in.x, in.initial_h, in.initial_c, in.weight, in.bias};
  s.state_gradient = in.state_gradient;
  s.sum = in.sum != nullptr ? *in.sum : RecurrentWeightSum(context, in.weight, in.bias, in.cell, in.reset_after);
  assert(s.sum.state.weight().offset == in.weight.offset && s.sum.candidate.weight().exists() == s.resets_before());
  s.time = time_major(context.arena, in.begin, in.length, in.x.value.rows, in.reversed);
  make_outputs(context, in, s);
  s.h = make_states(context, s.time, in.initial_h.value, s.out.last_h.value);
  if (in.cell == Cell::kLstm) s.c = make_states(context, s.time, in.initial_c.value, s.out.last_c.value);
  s.kept = context.arena.tensor(context.tape != nullptr ? s.time.rows() : s.time.alive(0), kernels::kept(in.cell) * s.width());
  finish_all(s, -1);
  for (int64_t t = 0; t < s.time.steps; ++t) {
    forward_step(context, s, t);
    finish_all(s, t);
  }
  if (context.tape != nullptr) {
    s.sum.state.expect(s.time.rows());
    if (s.resets_before()) s.sum.candidate.expect(s.time.rows());
    context.tape->record([context, s] { recurrent_backward(context, s); });
  }
  return s.out;
}

BidirectionalOutput bidirectional(Context& context, RecurrentInput forward, RecurrentInput backward) {
  const int64_t rows = forward.x.value.rows, width = forward.weight.columns;
  const bool recording = context.tape != nullptr;
  const Variable h = context.result(rows, 2 * width);
  const auto half = [&](int64_t begin) {
    return Variable{h.value.column_slice(begin, width), recording ? new (context.arena.allocate<Gradient>(1).data()) Gradient() : nullptr};
  };
  forward.h = half(0), backward.h = half(width);
  backward.reversed = true;
  BidirectionalOutput out{h, recurrent(context, forward), recurrent(context, backward)};
  if (recording) {
    context.tape->record([h, width, left = forward.h.gradient, right = backward.h.gradient] {
      if (!h.gradient->written) return;
      *left = {h.gradient->tensor.column_slice(0, width), true};
      *right = {h.gradient->tensor.column_slice(width, width), true};
    });
  }
  return out;
}

}  // namespace jumok
