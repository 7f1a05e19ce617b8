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
  check(plan.groups == plan.heads, "additive attention: expected as many key heads as query heads, {}, found {}", plan.heads, plan.groups);
  check(!p.rules.mask.data && !p.rules.bias.data, "additive attention: expected no mask and no bias; it knows lengths, causal and windows");
  check(!p.scale, "additive attention: expected no scale");
  check(run.threads >= 1, "additive attention: threads: expected at least 1, found {}", run.threads);
  check(p.dropout.rate == 0, "additive attention: expected no dropout, found a rate of {}", p.dropout.rate);
  check(score != nullptr || plan.key_width == 0, "additive attention: expected the vectors of the score, found null");
  check(plan.queries < std::numeric_limits<int32_t>::max() && plan.keys < std::numeric_limits<int32_t>::max(),
        "additive attention: expected fewer than 2^31 queries and keys, found {} and {}", plan.queries, plan.keys);
}

kernels::ConstRows rows_of(const ConstView& v, const Place& p, int64_t head) {
  return {start(v, p, head), p.rows, v.columns, v.row_stride};
}
kernels::Rows rows_of(const View& v, const Place& p, int64_t head) { return {start(v, p, head), p.rows, v.columns, v.row_stride}; }

// One head of one sentence as the kernel wants it. Holds what the kernel's arguments point to, so it stays where it is.
struct OneHead {
  kernels::RowAttention in;
  int32_t begin = 0, queries = 0, keys = 0;
  std::vector<int32_t> first, last;  // [T]

  OneHead(const Plan& plan, const float* score, int64_t sentence, int64_t head) {
    const Problem& p = plan.problem;
    const Place q = plan.query_place(sentence), k = plan.key_place(sentence);
    const kernels::AttentionHead h = plan.head(sentence, head, nullptr);
    queries = static_cast<int32_t>(q.rows);
    keys = static_cast<int32_t>(k.rows);
    in.q = rows_of(p.q, q, head);
    in.k = rows_of(p.k, k, head);
    in.v = rows_of(p.v, k, head);
    in.batch = {1, &begin, &queries, &begin, &keys};
    in.score = kernels::RowScore::kAdditive;
    in.u = score + head * plan.key_width;
    in.key_width = static_cast<int>(plan.key_width);
    in.value_width = static_cast<int>(plan.value_width);
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
    for (int64_t h = 0; h < plan.heads; ++h) {
      clear_all(g.dq, plan.query_place(b), p.queries.begin != nullptr, h);
      clear_all(g.dk, plan.key_place(b), p.keys.begin != nullptr, h);
      clear_all(g.dv, plan.key_place(b), p.keys.begin != nullptr, h);
    }
  }
}

// All sentences of one head, in order, since they share the head's part of dscore.
void backward_head(const Plan& plan, const float* score, const Gradient& g, float* dscore, int64_t head) {
  for (int64_t b = 0; b < plan.sentences; ++b) {
    const OneHead one(plan, score, b, head);
    const Place q = plan.query_place(b), k = plan.key_place(b);
    std::vector<float> lse(static_cast<size_t>(q.rows));
    for (int64_t r = 0; r < q.rows; ++r) lse[static_cast<size_t>(r)] = start(g.lse, q, head)[r * g.lse.row_stride];
    std::vector<float> workspace(static_cast<size_t>(kernels::row_attention_backward_workspace(one.in)));
    kernels::RowAttentionGradient rg;
    rg.out = rows_of(g.out, q, head);
    rg.dout = rows_of(g.dout, q, head);
    rg.lse = lse.data();
    rg.dq = rows_of(g.dq, q, head);
    rg.dk = rows_of(g.dk, k, head);
    rg.dv = rows_of(g.dv, k, head);
    rg.du = dscore + head * plan.key_width;
    rg.workspace = workspace.data();
    kernels::row_attention_backward(one.in, rg);
  }
}

}  // namespace

void additive_forward(const Problem& problem, const float* score, const Result& result, const Run& run) {
  const Plan plan(problem);
  check_additive(problem, plan, score, run);
  plan.check_query_view(result.out, plan.value_width, "out");
  if (result.lse.data) plan.check_query_view(result.lse, 1, "lse");
  run_tasks(plan.sentences * plan.heads, run.threads,
            [&](int64_t task, int) { forward_head(plan, score, result, task / plan.heads, task % plan.heads); });
}

void additive_weights(const Problem& problem, const float* score, const View& result, const Run& run) {
  const Plan plan(problem);
  check_additive(problem, plan, score, run);
  plan.check_pair_view(result, "weights");
  run_tasks(plan.sentences * plan.heads, run.threads, [&](int64_t task, int) {
    const int64_t sentence = task / plan.heads, head = task % plan.heads;
    const OneHead one(plan, score, sentence, head);
    std::vector<float> own(static_cast<size_t>(one.queries) * static_cast<size_t>(one.keys));
    kernels::row_attention_weights(one.in, 0, 0, own.data());
    float* w = result.data + sentence * result.batch_stride + head * result.head_stride;
    for (int64_t i = 0; i < result.rows; ++i) {
      float* row = w + i * result.row_stride;
      std::fill_n(row, result.columns, 0.0f);
      if (i < one.queries) std::copy_n(own.data() + i * one.keys, one.keys, row);
    }
  });
}

void additive_backward(const Problem& problem, const float* score, const Gradient& g, float* dscore, const Run& run) {
  const Plan plan(problem);
  check_additive(problem, plan, score, run);
  plan.check_query_view(g.out, plan.value_width, "out");
  plan.check_query_view(g.dout, plan.value_width, "dout");
  plan.check_query_view(g.lse, 1, "lse");
  plan.check_query_view(g.dq, plan.key_width, "dq");
  plan.check_key_view(g.dk, plan.key_width, "dk");
  plan.check_key_view(g.dv, plan.value_width, "dv");
  check(g.out.type == Type::f32 && g.dout.type == Type::f32 && g.lse.type == Type::f32,
        "additive attention: out, dout and lse: expected f32");
  check(!g.dbias.data, "additive attention: expected no gradient of a bias");
  check(dscore != nullptr || plan.key_width == 0, "additive attention: dscore: expected [H, d_k], found null");
  if (!g.accumulate) {
    clear_gradients(plan, g);
    std::fill_n(dscore, plan.heads * plan.key_width, 0.0f);
  }
  run_tasks(plan.heads, run.threads, [&](int64_t head, int) { backward_head(plan, score, g, dscore, head); });
}

}  // namespace jumok::attention
