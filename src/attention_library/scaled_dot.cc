// jumok/attention.h: checks, the deal of heads to threads, and the kernels.
#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "attention_library/plan.h"
#include "base/error.h"
#include "base/parallel.h"
#include "kernels/dropout.h"

namespace jumok::attention {

void fill_rest(const View& v, const Place& p, bool packed, int64_t head, float value) {
  for (int64_t r = p.rows; !packed && r < v.rows; ++r) std::fill_n(start(v, p, head) + r * v.row_stride, v.columns, value);
}

void check_gradient(const Plan& plan, const Gradient& g) {
  plan.check_query_view(g.out, plan.value_width, "out");
  plan.check_query_view(g.dout, plan.value_width, "dout");
  plan.check_query_view(g.lse, 1, "lse");
  plan.check_query_view(g.dq, plan.key_width, "dq");
  plan.check_key_view(g.dk, plan.key_width, "dk");
  plan.check_key_view(g.dv, plan.value_width, "dv");
  check(g.out.type == Type::f32 && g.dout.type == Type::f32 && g.lse.type == Type::f32, "attention: out, dout and lse: expected f32");
}

void clear_bias(const Plan& plan, const Pairs<float>& dbias) {
  const auto count = [](int64_t n, int64_t stride) { return stride == 0 ? std::min<int64_t>(n, 1) : n; };
  for (int64_t b = 0; b < count(plan.sentences, dbias.batch_stride); ++b) {
    for (int64_t h = 0; h < count(plan.heads, dbias.head_stride); ++h) {
      for (int64_t i = 0; i < count(plan.queries, dbias.query_stride); ++i) {
        float* row = dbias.data + b * dbias.batch_stride + h * dbias.head_stride + i * dbias.query_stride;
        for (int64_t j = 0; j < count(plan.keys, dbias.key_stride); ++j) row[j * dbias.key_stride] = 0;
      }
    }
  }
}

namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
constexpr int64_t kBlockQueries = 288;  // queries that share a packed tile of keys in the kernel: what a thread takes at a time

// ---- threads and workspace ----

size_t workspace_bytes(int64_t floats, int threads) {
  check(threads >= 1, "attention: threads: expected at least 1, found {}", threads);
  return static_cast<size_t>(floats) * static_cast<size_t>(threads) * sizeof(float);
}

// One piece of float-aligned memory a thread: of the caller's, or allocated.
class Workspace {
 public:
  Workspace(const Run& run, int64_t floats) : floats_(floats) {
    const size_t bytes = workspace_bytes(floats, run.threads);
    check(!run.workspace || run.workspace_bytes >= bytes, "attention: workspace: expected {} bytes, found {}", bytes, run.workspace_bytes);
    if (!run.workspace) own_ = std::make_unique_for_overwrite<float[]>(bytes / sizeof(float));
    data_ = run.workspace ? static_cast<float*>(run.workspace) : own_.get();
  }
  float* of(int thread) const { return data_ + floats_ * thread; }

 private:
  int64_t floats_;
  std::unique_ptr<float[]> own_;
  float* data_;
};

int64_t row_key_floats(const Plan& plan) { return plan.dropout() ? plan.queries : 0; }

// The dropout keys of a sentence's queries, made in `memory`; null without dropout.
const uint32_t* row_keys(const Plan& plan, int64_t sentence, float* memory) {
  if (!plan.dropout()) return nullptr;
  auto* keys = reinterpret_cast<uint32_t*>(memory);
  plan.fill_row_keys(sentence, keys);
  return keys;
}

// ---- forward ----

kernels::Rows output_rows(const View& v, const Place& p, int64_t head) { return {start(v, p, head), p.rows, v.columns, v.row_stride}; }

// `h`, the first of `rows` rows that lie q_stride apart, and as far as mask and bias say, as one head whose queries all see the same keys.
// Those before the window stay where they are, so that the tiles, and with them the bits, are those of the rows alone.
void merge_rows(kernels::AttentionHead& h, int64_t rows, int64_t q_stride, int64_t mask_stride, int64_t bias_stride) {
  const int64_t first = h.first(0);
  h.keys = h.limit(0);
  h.from = first;
  h.behind = h.ahead = kernels::kUnlimited;
  h.queries = rows;
  h.q.stride = q_stride;
  h.mask.stride = mask_stride;
  h.bias.stride = bias_stride;
}

void step_group(const Plan& plan, const Result& result, int64_t sentence, int64_t group) {
  const Problem& p = plan.problem;
  const int64_t rows = plan.heads / plan.groups, head = group * rows;
  kernels::AttentionHead h = plan.head(sentence, head, nullptr);
  merge_rows(h, rows, p.q.head_stride, p.rules.mask.head_stride, p.rules.bias.head_stride);
  const Place place = plan.query_place(sentence);
  float* lse = result.lse.data ? start(result.lse, place, head) : nullptr;
  kernels::attention_head_forward(h, {0, rows}, {start(result.out, place, head), rows, plan.value_width, result.out.head_stride}, lse,
                                  result.lse.head_stride);
}

void step_sentences(const Plan& plan, const Result& result, int64_t head) {
  const Problem& p = plan.problem;
  kernels::AttentionHead h = plan.head(0, head, nullptr);
  merge_rows(h, plan.sentences, p.q.batch_stride, p.rules.mask.batch_stride, p.rules.bias.batch_stride);
  const Place place = plan.query_place(0);
  float* lse = result.lse.data ? start(result.lse, place, head) : nullptr;
  kernels::attention_head_forward(h, {0, plan.sentences},
                                  {start(result.out, place, head), plan.sentences, plan.value_width, result.out.batch_stride}, lse,
                                  result.lse.batch_stride);
}

void forward_block(const Plan& plan, const Result& result, int64_t sentence, int64_t head, int64_t block, float* memory) {
  const Place place = plan.query_place(sentence);
  const bool packed = plan.problem.queries.begin != nullptr;
  const kernels::AttentionHead h = plan.head(sentence, head, row_keys(plan, sentence, memory));
  const kernels::Range rows{std::min(block * kBlockQueries, place.rows), std::min((block + 1) * kBlockQueries, place.rows)};
  float* lse = result.lse.data ? start(result.lse, place, head) : nullptr;
  kernels::attention_head_forward(h, rows, output_rows(result.out, place, head), lse, result.lse.row_stride);
  if (block > 0) return;
  fill_rest(result.out, place, packed, head, 0.0f);
  if (lse) fill_rest(result.lse, place, packed, head, kMinusInfinity);
}

// ---- backward ----

bool rows_overlap(const Plan& plan) {
  const Sequences& s = plan.problem.keys;
  if (!s.begin) return false;
  std::vector<std::pair<int64_t, int64_t>> ranges;
  for (int64_t b = 0; b < plan.sentences; ++b) {
    if (s.length[b] > 0) ranges.emplace_back(s.begin[b], s.begin[b] + s.length[b]);
  }
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first < ranges[i - 1].second) return true;
  }
  return false;
}

void clear(const View& v, const Place& p, int64_t head, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r) std::fill_n(start(v, p, head) + r * v.row_stride, v.columns, 0.0f);
}

// What overlapping sentences add up in.
void clear_keys(const Plan& plan, const Gradient& g) {
  for (int64_t b = 0; b < plan.sentences; ++b) {
    const Place place = plan.key_place(b);
    const int64_t rows = plan.problem.keys.begin ? place.rows : plan.problem.k.rows;
    for (int64_t group = 0; group < plan.groups; ++group) {
      clear(g.dk, place, group, rows);
      clear(g.dv, place, group, rows);
    }
  }
}

// The query heads of one key/value head, one after another. shared: its gradients were cleared and add up with those of other sentences.
void backward_group(const Plan& plan, const Gradient& g, int64_t sentence, int64_t group, bool shared, float* memory) {
  const Place q = plan.query_place(sentence), k = plan.key_place(sentence);
  const int64_t members = plan.heads / plan.groups;
  const uint32_t* keys = row_keys(plan, sentence, memory);
  for (int64_t head = group * members; head < (group + 1) * members; ++head) {
    kernels::HeadGradient hg{output_rows(g.dq, q, head),
                             output_rows(g.dk, k, group),
                             output_rows(g.dv, k, group),
                             {start(g.out, q, head), q.rows, plan.value_width, g.out.row_stride},
                             {start(g.dout, q, head), q.rows, plan.value_width, g.dout.row_stride}};
    hg.lse = start(g.lse, q, head);
    hg.lse_stride = g.lse.row_stride;
    hg.accumulate_queries = g.accumulate;
    hg.accumulate_keys = g.accumulate || shared || head > group * members;
    const Pairs<float>& b = g.dbias;
    if (b.data) hg.dbias = {b.data + sentence * b.batch_stride + head * b.head_stride, b.query_stride, b.key_stride};
    hg.workspace = memory + row_key_floats(plan);
    kernels::attention_head_backward(plan.head(sentence, head, keys), hg);
    if (!g.accumulate) fill_rest(g.dq, q, plan.problem.queries.begin, head, 0.0f);
  }
  if (g.accumulate || shared) return;
  fill_rest(g.dk, k, plan.problem.keys.begin, group, 0.0f);
  fill_rest(g.dv, k, plan.problem.keys.begin, group, 0.0f);
}

int64_t backward_floats(const Plan& plan) { return row_key_floats(plan) + kernels::attention_head_workspace(plan.queries); }

// ---- pairs ----

void write_pairs(const Plan& plan, const View& given, const Run& run, bool as_scores) {
  const View result = anchored(given);
  plan.check_pair_view(result, as_scores ? "scores" : "weights");
  const float blocked = as_scores ? kMinusInfinity : 0.0f;
  check(run.threads >= 1, "attention: threads: expected at least 1, found {}", run.threads);
  run_tasks(plan.sentences * plan.heads, run.threads, [&](int64_t task, int) {
    const int64_t sentence = task / plan.heads, head = task % plan.heads;
    const kernels::AttentionHead h = plan.head(sentence, head, nullptr);
    float* w = result.data + sentence * result.batch_stride + head * result.head_stride;
    for (int64_t i = 0; i < result.rows; ++i) {
      const int64_t from = i < h.queries ? h.keys : 0;
      std::fill(w + i * result.row_stride + from, w + i * result.row_stride + result.columns, blocked);
    }
    kernels::attention_head_weights(h, w, result.row_stride, as_scores);
  });
}

}  // namespace

void forward(const Problem& problem, const Result& given, const Run& run) {
  const Plan plan(problem);
  const Result result = anchored(given);
  plan.check_query_view(result.out, plan.value_width, "out");
  if (result.lse.data) plan.check_query_view(result.lse, 1, "lse");
  const Workspace workspace(run, row_key_floats(plan));
  const Together together = rows_together(plan);
  if (together == Together::kSentences) {
    run_tasks(plan.heads, run.threads, [&](int64_t head, int) { step_sentences(plan, result, head); });
  } else if (together == Together::kGroup) {
    run_tasks(plan.sentences * plan.groups, run.threads,
              [&](int64_t task, int) { step_group(plan, result, task / plan.groups, task % plan.groups); });
  } else {
    // The last block first: under the causal rule it has the most work.
    const int64_t blocks = std::max<int64_t>(1, (plan.queries + kBlockQueries - 1) / kBlockQueries), pieces = plan.heads * blocks;
    run_tasks(plan.sentences * pieces, run.threads, [&](int64_t task, int thread) {
      const int64_t within = task % pieces;
      forward_block(plan, result, task / pieces, within / blocks, blocks - 1 - within % blocks, workspace.of(thread));
    });
  }
}

size_t forward_workspace(const Problem& problem, int threads) { return workspace_bytes(row_key_floats(Plan(problem)), threads); }

void backward(const Problem& problem, const Gradient& given, const Run& run) {
  const Plan plan(problem);
  const Gradient g = anchored(given);
  check_gradient(plan, g);
  const Workspace workspace(run, backward_floats(plan));
  const bool shared =
      plan.sentences > 1 && (rows_overlap(plan) || (!problem.keys.begin && (g.dk.batch_stride == 0 || g.dv.batch_stride == 0)));
  const bool shared_bias =
      g.dbias.data && ((plan.sentences > 1 && g.dbias.batch_stride == 0) || (plan.heads > 1 && g.dbias.head_stride == 0));
  if (g.dbias.data && !g.accumulate) clear_bias(plan, g.dbias);
  if (shared && !g.accumulate) clear_keys(plan, g);
  run_tasks(plan.sentences * plan.groups, shared || shared_bias ? 1 : run.threads, [&](int64_t task, int thread) {
    backward_group(plan, g, task / plan.groups, task % plan.groups, shared, workspace.of(thread));
  });
}

size_t backward_workspace(const Problem& problem, int threads) { return workspace_bytes(backward_floats(Plan(problem)), threads); }

void weights(const Problem& problem, const View& result, const Run& run) { write_pairs(Plan(problem), result, run, false); }
void scores(const Problem& problem, const View& result, const Run& run) { write_pairs(Plan(problem), result, run, true); }

void dropout_factors(const Problem& problem, const View& given) {
  const Plan plan(problem);
  const View result = anchored(given);
  plan.check_pair_view(result, "dropout_factors");
  std::vector<uint32_t> keys(static_cast<size_t>(plan.queries));
  const uint32_t threshold = kernels::keep_threshold(problem.dropout.rate);
  for (int64_t b = 0; b < plan.sentences; ++b) {
    plan.fill_row_keys(b, keys.data());
    for (int64_t h = 0; h < plan.heads; ++h) {
      const uint32_t first = plan.head(b, h, nullptr).first_column;
      const int64_t rows = plan.query_place(b).rows;
      for (int64_t i = 0; i < result.rows; ++i) {
        float* row = result.data + b * result.batch_stride + h * result.head_stride + i * result.row_stride;
        if (i >= rows) {
          std::fill_n(row, plan.keys, 0.0f);
          continue;
        }
        const uint32_t seed = kernels::dropout_row_seed(keys[static_cast<size_t>(i)], 0);
        for (int64_t j = 0; j < plan.keys; ++j) {
          const bool dropped = plan.dropout() && kernels::dropout_bits(seed, first + static_cast<uint32_t>(j)) < threshold;
          row[j] = dropped ? 0.0f : 1.0f / (1.0f - problem.dropout.rate);
        }
      }
    }
  }
}

}  // namespace jumok::attention
