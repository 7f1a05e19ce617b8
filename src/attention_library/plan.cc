#include "attention_library/plan.h"

#include <cmath>

#include "base/error.h"
#include "base/rng.h"

namespace jumok::attention {
namespace {

constexpr int64_t kFarthest = int64_t{1} << 58;  // of an offset, so that kernels::kUnlimited is out of reach of every position

void check_view(const ConstView& v, const char* name) {
  check(v.batch >= 0 && v.heads >= 0 && v.rows >= 0 && v.columns >= 0, "attention: {} has a negative size [{}, {}, {}, {}]", name, v.batch,
        v.heads, v.rows, v.columns);
  const bool empty = v.batch == 0 || v.heads == 0 || v.rows == 0 || v.columns == 0;
  int64_t elements = 0;
  const bool countable =
      empty || (!__builtin_mul_overflow(v.batch, v.heads, &elements) && !__builtin_mul_overflow(elements, v.rows, &elements) &&
                !__builtin_mul_overflow(elements, v.columns, &elements));
  check(countable, "attention: {}: expected fewer than 2^63 elements, found [{}, {}, {}, {}]", name, v.batch, v.heads, v.rows, v.columns);
  check(v.data != nullptr || empty, "attention: {} is null", name);
}

// In what is written no two elements may share a place; `adds_up`: but for those of sentences, which add up.
void check_written(const View& v, const char* name, bool adds_up) {
  if (v.batch == 0 || v.heads == 0 || v.rows == 0 || v.columns == 0) return;
  const auto apart = [&](int64_t size, int64_t stride, const char* what) {
    check(size == 1 || stride != 0, "attention: {}: expected memory of their own for its {}, which are written, found a stride of 0", name,
          what);
  };
  if (!adds_up) apart(v.batch, v.batch_stride, "batch entries");
  apart(v.heads, v.head_stride, "heads");
  apart(v.rows, v.row_stride, "rows");
}

void check_equal(int64_t found, int64_t expected, const char* what, const char* name) {
  check(found == expected, "attention: {}: expected {} {}, found {}", name, expected, what, found);
}

// The number of sentences that a side states, -1 where it states none (packed).
int64_t stated_sentences(const ConstView& view, const Sequences& s, const char* name) {
  if (!s.begin) return view.batch;
  check_equal(view.batch, 1, "batch entry (rows of packed sentences)", name);
  check(s.length != nullptr, "attention: {}: packed sentences have begin[], but no length[]", name);
  return -1;
}

int64_t count_sentences(const Problem& p) {
  const int64_t of_q = stated_sentences(p.q, p.queries, "q"), of_k = stated_sentences(p.k, p.keys, "k");
  check(p.sentences >= 0, "attention: sentences: expected at least 0, found {}", p.sentences);
  const int64_t padded = of_q >= 0 ? of_q : of_k;
  if (padded < 0) {
    check(p.sentences > 0 || p.q.rows == 0, "attention: sentences: expected their number, as q and k are packed, found 0");
    return p.sentences;
  }
  check(of_k < 0 || of_k == padded, "attention: k: expected {} batch entries as in q, found {}", padded, of_k);
  check(p.sentences == 0 || p.sentences == padded, "attention: sentences: expected {} (the batch of the padded view), found {}", padded,
        p.sentences);
  return padded;
}

// Longest sentence; Error where one does not lie within the view.
int64_t check_sequences(const Sequences& s, int64_t sentences, int64_t rows, const char* name) {
  int64_t longest = 0;
  for (int64_t b = 0; b < sentences && s.length; ++b) {
    const int64_t begin = s.begin ? s.begin[b] : 0, length = s.length[b];
    check(begin >= 0 && length >= 0 && begin <= rows && length <= rows - begin,
          "attention: {}: sentence {} has {} rows from row {} on, of a view of {} rows", name, b, length, begin, rows);
    longest = std::max(longest, length);
  }
  return s.begin ? longest : rows;
}

void check_rules(const Rules& r, int64_t sentences) {
  check(r.left >= -1 && r.right >= -1, "attention: window: expected sides from 0, or -1 for no limit, found {} and {}", r.left, r.right);
  check(!r.offset || !r.offsets, "attention: expected one of offset and offsets[], found both");
  const auto near = [](int64_t offset) { return offset > -kFarthest && offset < kFarthest; };
  check(near(r.offset.value_or(0)), "attention: offset: expected less than 2^58, found {}", r.offset.value_or(0));
  for (int64_t b = 0; b < sentences && r.offsets; ++b) {
    check(near(r.offsets[b]), "attention: offset of sentence {}: expected less than 2^58, found {}", b, r.offsets[b]);
  }
}

void check_views(const Problem& p) {
  check_view(p.q, "q");
  check_view(p.k, "k");
  check_view(p.v, "v");
  check_equal(p.k.columns, p.q.columns, "columns (d_k, as in q)", "k");
  check_equal(p.v.batch, p.k.batch, "batch entries (as in k)", "v");
  check_equal(p.v.heads, p.k.heads, "heads (as in k)", "v");
  check_equal(p.v.rows, p.k.rows, "rows (S, as in k)", "v");
  check(p.q.heads == p.k.heads || (p.q.heads > 0 && p.k.heads > 0 && p.q.heads % p.k.heads == 0),
        "attention: expected a multiple of the {} key/value heads of k as heads of q, found {}", p.k.heads, p.q.heads);
}

kernels::Storage storage(Type type) {
  return type == Type::f32 ? kernels::Storage::kF32 : type == Type::f16 ? kernels::Storage::kF16 : kernels::Storage::kBF16;
}

kernels::HeadRows head_rows(const ConstView& v, const Place& p, int64_t head) {
  const int64_t size = v.type == Type::f32 ? 4 : 2;
  const int64_t at = p.batch * v.batch_stride + head * v.head_stride + p.row * v.row_stride;
  return {static_cast<const char*>(v.data) + at * size, v.row_stride, storage(v.type)};
}

template <typename T>
kernels::PairView<T> pair_view(const Pairs<T>& p, int64_t sentence, int64_t head) {
  if (!p.data) return {};
  return {p.data + sentence * p.batch_stride + head * p.head_stride, p.query_stride, p.key_stride};
}

Place place(const Sequences& s, const ConstView& view, int64_t sentence) {
  if (s.begin) return {s.begin[sentence], s.length[sentence], 0};
  return {0, s.length ? s.length[sentence] : view.rows, sentence};
}

}  // namespace

Plan::Plan(const Problem& given) : problem(anchored(given)) {
  const Problem& p = problem;
  check_views(p);
  sentences = count_sentences(p);
  heads = p.q.heads;
  groups = p.k.heads;
  key_width = p.q.columns;
  value_width = p.v.columns;
  queries = check_sequences(p.queries, sentences, p.q.rows, "q");
  keys = check_sequences(p.keys, sentences, p.k.rows, "k");
  check_rules(p.rules, sentences);
  check(std::isfinite(p.scale.value_or(1)), "attention: scale: expected a finite number, found {}", p.scale.value_or(1));
  check(p.dropout.rate >= 0 && p.dropout.rate < 1, "attention: dropout: expected a rate in [0, 1), found {}", p.dropout.rate);
}

namespace {

// The only query of every sentence sees the same rows of the same memory, as far as position says.
bool sentences_see_the_same(const Plan& plan) {
  const Problem& p = plan.problem;
  if (!p.keys.begin && (p.k.batch_stride != 0 || p.v.batch_stride != 0)) return false;
  const Place place = plan.key_place(0);
  const kernels::AttentionHead h = plan.head(0, 0, nullptr);
  for (int64_t b = 1; b < plan.sentences; ++b) {
    const kernels::AttentionHead other = plan.head(b, 0, nullptr);
    if (plan.key_place(b).row != place.row || other.first(0) != h.first(0) || other.limit(0) != h.limit(0)) return false;
  }
  return true;
}

}  // namespace

Together rows_together(const Plan& plan) {
  const Problem& p = plan.problem;
  if (p.q.rows != 1 || p.queries.begin || plan.dropout() || plan.heads == 0) return Together::kNothing;
  for (int64_t b = 0; b < plan.sentences && p.queries.length; ++b) {
    if (p.queries.length[b] != 1) return Together::kNothing;
  }
  if (plan.sentences > 1 && sentences_see_the_same(plan)) return Together::kSentences;
  return plan.heads > plan.groups ? Together::kGroup : Together::kNothing;
}

Place Plan::query_place(int64_t sentence) const { return place(problem.queries, problem.q, sentence); }
Place Plan::key_place(int64_t sentence) const { return place(problem.keys, problem.k, sentence); }

int64_t Plan::offset(int64_t sentence, int64_t sentence_queries, int64_t sentence_keys) const {
  if (problem.rules.offset) return *problem.rules.offset;
  return problem.rules.offsets ? problem.rules.offsets[sentence] : sentence_keys - sentence_queries;
}

kernels::AttentionHead Plan::head(int64_t sentence, int64_t head, const uint32_t* row_keys) const {
  const Place q = query_place(sentence), k = key_place(sentence);
  const Rules& rules = problem.rules;
  const int64_t group = group_of(head);
  kernels::AttentionHead h;
  h.q = head_rows(problem.q, q, head);
  h.k = head_rows(problem.k, k, group);
  h.v = head_rows(problem.v, k, group);
  h.queries = q.rows;
  h.keys = k.rows;
  h.key_width = key_width;
  h.value_width = value_width;
  h.scale = problem.scale.value_or(key_width > 0 ? 1.0f / std::sqrt(static_cast<float>(key_width)) : 1.0f);
  h.offset = offset(sentence, q.rows, k.rows);
  if (rules.left >= 0) h.behind = std::min(rules.left, kernels::kUnlimited);
  if (rules.right >= 0) h.ahead = std::min(rules.right, kernels::kUnlimited);
  if (rules.causal) h.ahead = 0;
  h.mask = pair_view(rules.mask, sentence, head);
  h.bias = pair_view(rules.bias, sentence, head);
  h.dropout = {problem.dropout.rate, 0, row_keys};
  h.first_column = static_cast<uint32_t>(head) * 65536u;
  return h;
}

void Plan::fill_row_keys(int64_t sentence, uint32_t* row_keys) const {
  const uint64_t of_sentence = mix64(problem.dropout.seed ^ mix64(static_cast<uint64_t>(sentence)));
  const int64_t rows = query_place(sentence).rows;
  for (int64_t i = 0; i < rows; ++i) row_keys[i] = static_cast<uint32_t>(mix64(of_sentence + static_cast<uint64_t>(i)) >> 32);
}

void Plan::check_query_view(const ConstView& view, int64_t columns, const char* name) const {
  check_view(view, name);
  check_equal(view.batch, problem.q.batch, "batch entries (as in q)", name);
  check_equal(view.heads, heads, "heads (as in q)", name);
  check_equal(view.rows, problem.q.rows, "rows (as in q)", name);
  check_equal(view.columns, columns, "columns", name);
}

void Plan::check_key_view(const ConstView& view, int64_t columns, const char* name) const {
  check_view(view, name);
  check_equal(view.batch, problem.k.batch, "batch entries (as in k)", name);
  check_equal(view.heads, groups, "heads (as in k)", name);
  check_equal(view.rows, problem.k.rows, "rows (as in k)", name);
  check_equal(view.columns, columns, "columns", name);
}

void Plan::check_query_view(const View& view, int64_t columns, const char* name) const {
  check_query_view(ConstView(view), columns, name);
  check_written(view, name, false);
}

void Plan::check_key_view(const View& view, int64_t columns, const char* name) const {
  check_key_view(ConstView(view), columns, name);
  check_written(view, name, true);
}

void Plan::check_pair_view(const View& view, const char* name) const {
  check_view(view, name);
  check_written(view, name, false);
  check_equal(view.batch, sentences, "batch entries (sentences)", name);
  check_equal(view.heads, heads, "heads (as in q)", name);
  check_equal(view.rows, queries, "rows (T)", name);
  check_equal(view.columns, keys, "columns (S)", name);
}

}  // namespace jumok::attention
