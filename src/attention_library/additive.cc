// jumok/attention.h: the additive score, head by head through kernels/row_attention.h.
#include <algorithm>
#include <limits>
#include <vector>

#include "attention_library/plan.h"
#include "base/error.h"
#include "base/parallel.h"
#include "kernels/row_attention.h"

namespace jumok::attention {
namespace {

void check_additive(const Problem& p, const Plan& plan, const float* score, const Run& run) {
  check(p.q.type == Type::f32 && p.k.type == Type::f32 && p.v.type == Type::f32, "additive attention: q, k and v: expected f32");
  check(!p.scale, "additive attention: expected no scale");
  check(run.threads >= 1, "additive attention: threads: expected at least 1, found {}", run.threads);
  check(score != nullptr || plan.key_width == 0, "additive attention: expected the vectors of the score, found null");
  check(plan.queries < std::numeric_limits<int32_t>::max() && plan.keys < std::numeric_limits<int32_t>::max(),
        "additive attention: expected fewer than 2^31 queries and keys, found {} and {}", plan.queries, plan.keys);
}

kernels::ConstRows rows_of(const ConstView& v, const Place& p, int64_t head) {
  return {start(v, p, head), p.rows, v.columns, v.row_stride};
}
kernels::Rows rows_of(const View& v, const Place& p, int64_t head) { return {start(v, p, head), p.rows, v.columns, v.row_stride}; }

// As the kernel wants them, whose query rows are those of one sentence, and whose head is one.
template <typename T>
kernels::RowPairs<T> row_pairs(const Pairs<T>& p, int64_t sentence, int64_t head) {
  if (!p.data) return {};
  return {p.data + sentence * p.batch_stride + head * p.head_stride, p.query_stride, p.key_stride};
}

// One head of one sentence as the kernel wants it. Holds what the kernel's arguments point to, so it stays where it is.
struct OneHead {
  kernels::RowAttention in;
  int32_t begin = 0, queries = 0, keys = 0;
  std::vector<int32_t> first, last;  // [T]
  std::vector<uint32_t> row_keys;    // [T]

  OneHead(const Plan& plan, const float* score, int64_t sentence, int64_t head) {
    const Problem& p = plan.problem;
    const Place q = plan.query_place(sentence), k = plan.key_place(sentence);
    const kernels::AttentionHead h = plan.head(sentence, head, nullptr);
    queries = static_cast<int32_t>(q.rows);
    keys = static_cast<int32_t>(k.rows);
    in.q = rows_of(p.q, q, head);
    in.k = rows_of(p.k, k, plan.group_of(head));
    in.v = rows_of(p.v, k, plan.group_of(head));
    in.batch = {1, &begin, &queries, &begin, &keys};
    in.score = kernels::RowScore::kAdditive;
    in.u = score + head * plan.key_width;
    in.key_width = static_cast<int>(plan.key_width);
    in.value_width = static_cast<int>(plan.value_width);
    in.mask = row_pairs(p.rules.mask, sentence, head);
    in.bias = row_pairs(p.rules.bias, sentence, head);
    drop(plan, sentence, h.first_column);
    if (!p.rules.causal && p.rules.left < 0 && p.rules.right < 0) return;
    for (int64_t i = 0; i < q.rows; ++i) {
      first.push_back(static_cast<int32_t>(h.first(i)));
      last.push_back(static_cast<int32_t>(h.limit(i)));
    }
    in.first = first.data();
    in.last = last.data();
  }
  OneHead(const OneHead&) = delete;
  OneHead& operator=(const OneHead&) = delete;

 private:
  // With the keys and columns of the scaled dot product, so that dropout_factors() describes both.
  void drop(const Plan& plan, int64_t sentence, uint32_t first_column) {
    if (!plan.dropout()) return;
    row_keys.resize(static_cast<size_t>(queries));
    plan.fill_row_keys(sentence, row_keys.data());
    in.dropout = {plan.problem.dropout.rate, 0, row_keys.data()};
    in.first_column = first_column;
  }
};

void clear_all(const View& v, const Place& p, bool packed, int64_t head) {
  for (int64_t r = 0; r < (packed ? p.rows : v.rows); ++r) std::fill_n(start(v, p, head) + r * v.row_stride, v.columns, 0.0f);
}

void forward_head(const Plan& plan, const float* score, const Result& result, int64_t sentence, int64_t head) {
  const OneHead one(plan, score, sentence, head);
  const Place place = plan.query_place(sentence);
  const bool packed = plan.problem.queries.begin != nullptr;
  std::vector<float> lse(static_cast<size_t>(place.rows));
  kernels::row_attention_forward(one.in, rows_of(result.out, place, head), lse.data());
  fill_rest(result.out, place, packed, head, 0.0f);
  if (!result.lse.data) return;
  for (int64_t r = 0; r < place.rows; ++r) start(result.lse, place, head)[r * result.lse.row_stride] = lse[static_cast<size_t>(r)];
  fill_rest(result.lse, place, packed, head, -std::numeric_limits<float>::infinity());
}

// The kernel adds: what is to be overwritten is cleared before the first sentence.
void clear_gradients(const Plan& plan, const Gradient& g) {
  const Problem& p = plan.problem;
  for (int64_t b = 0; b < plan.sentences; ++b) {
    for (int64_t h = 0; h < plan.heads; ++h) clear_all(g.dq, plan.query_place(b), p.queries.begin != nullptr, h);
    for (int64_t group = 0; group < plan.groups; ++group) {
      clear_all(g.dk, plan.key_place(b), p.keys.begin != nullptr, group);
      clear_all(g.dv, plan.key_place(b), p.keys.begin != nullptr, group);
    }
  }
  if (g.dbias.data) clear_bias(plan, g.dbias);
}

void backward_head(const Plan& plan, const float* score, const Gradient& g, float* dscore, int64_t sentence, int64_t head) {
  const OneHead one(plan, score, sentence, head);
  const Place q = plan.query_place(sentence), k = plan.key_place(sentence);
  std::vector<float> lse(static_cast<size_t>(q.rows));
  for (int64_t r = 0; r < q.rows; ++r) lse[static_cast<size_t>(r)] = start(g.lse, q, head)[r * g.lse.row_stride];
  std::vector<float> workspace(static_cast<size_t>(kernels::row_attention_backward_workspace(one.in)));
  kernels::RowAttentionGradient rg;
  rg.out = rows_of(g.out, q, head);
  rg.dout = rows_of(g.dout, q, head);
  rg.lse = lse.data();
  rg.dq = rows_of(g.dq, q, head);
  rg.dk = rows_of(g.dk, k, plan.group_of(head));
  rg.dv = rows_of(g.dv, k, plan.group_of(head));
  rg.du = dscore + head * plan.key_width;
  rg.dbias = row_pairs(g.dbias, sentence, head);
  rg.workspace = workspace.data();
  kernels::row_attention_backward(one.in, rg);
}

}  // namespace

void additive_forward(const Problem& problem, const float* score, const Result& given, const Run& run) {
  const Plan plan(problem);
  const Result result = anchored(given);
  check_additive(problem, plan, score, run);
  plan.check_query_view(result.out, plan.value_width, "out");
  if (result.lse.data) plan.check_query_view(result.lse, 1, "lse");
  run_tasks(plan.sentences * plan.heads, run.threads,
            [&](int64_t task, int) { forward_head(plan, score, result, task / plan.heads, task % plan.heads); });
}

void additive_weights(const Problem& problem, const float* score, const View& given, const Run& run) {
  const Plan plan(problem);
  const View result = anchored(given);
  check_additive(problem, plan, score, run);
  plan.check_pair_view(result, "weights");
  run_tasks(plan.sentences * plan.heads, run.threads, [&](int64_t task, int) {
    const int64_t sentence = task / plan.heads, head = task % plan.heads;
    const OneHead one(plan, score, sentence, head);
    float* w = result.data + sentence * result.batch_stride + head * result.head_stride;
    for (int64_t i = 0; i < result.rows; ++i) {
      const int64_t from = i < one.queries ? one.keys : 0;
      std::fill(w + i * result.row_stride + from, w + i * result.row_stride + result.columns, 0.0f);
    }
    if (one.queries > 0) kernels::row_attention_weights(one.in, 0, 0, w, result.row_stride);
  });
}

void additive_backward(const Problem& problem, const float* score, const Gradient& given, float* dscore, const Run& run) {
  const Plan plan(problem);
  const Gradient g = anchored(given);
  check_additive(problem, plan, score, run);
  check_gradient(plan, g);
  check(dscore != nullptr || plan.key_width == 0, "additive attention: dscore: expected [H, d_k], found null");
  if (!g.accumulate) {
    clear_gradients(plan, g);
    std::fill_n(dscore, plan.heads * plan.key_width, 0.0f);
  }
  // A task has all sentences of a group, in order, since they share the heads' parts of dscore, and may share keys.
  const int64_t members = plan.groups ? plan.heads / plan.groups : 0;
  const bool heads_share = plan.heads > 1 && g.dbias.data && g.dbias.head_stride == 0;
  run_tasks(plan.groups, heads_share ? 1 : run.threads, [&](int64_t group, int) {
    for (int64_t b = 0; b < plan.sentences; ++b) {
      for (int64_t head = group * members; head < (group + 1) * members; ++head) backward_head(plan, score, g, dscore, b, head);
    }
  });
}

}  // namespace jumok::attention
