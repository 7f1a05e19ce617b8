// The problem of the public header jumok/attention.h, checked and taken apart into heads for the kernels.
#pragma once

#include <jumok/attention.h>

#include "kernels/attention_head.h"

namespace jumok::attention {

// What a view says, where sentence b's head h begins in it.
struct Place {
  int64_t row = 0, rows = 0;  // first row and number of rows of the sentence
  int64_t batch = 0;          // the view's entry it lies in
};

// A view without elements may be null, to which nothing but 0 may be added: its strides become 0.
template <class V>
V anchored(V view) {
  if (!view.data) view.batch_stride = view.head_stride = view.row_stride = 0;
  return view;
}
inline Problem anchored(const Problem& p) {
  Problem at = p;
  at.q = anchored(p.q);
  at.k = anchored(p.k);
  at.v = anchored(p.v);
  return at;
}
inline Result anchored(const Result& r) { return {anchored(r.out), anchored(r.lse)}; }
inline Gradient anchored(const Gradient& g) {
  Gradient at = g;
  for (ConstView* v : {&at.out, &at.dout, &at.lse}) *v = anchored(*v);
  for (View* v : {&at.dq, &at.dk, &at.dv}) *v = anchored(*v);
  return at;
}

class Plan {
 public:
  // Throws Error where views, lengths or rules do not fit together. What `problem` points to must outlive the plan.
  explicit Plan(const Problem& problem);

  const Problem problem;
  int64_t sentences = 0, heads = 0, groups = 0;  // B, H, G
  int64_t queries = 0, keys = 0;                 // T, S of the pair views: rows of a padded view, longest sentence of a packed one
  int64_t key_width = 0, value_width = 0;

  int64_t group_of(int64_t head) const { return head / (heads / groups); }
  Place query_place(int64_t sentence) const;
  Place key_place(int64_t sentence) const;
  // row_keys [T of the sentence]: of dropout, as fill_row_keys() makes them; null where there is none.
  kernels::AttentionHead head(int64_t sentence, int64_t head, const uint32_t* row_keys) const;
  void fill_row_keys(int64_t sentence, uint32_t* row_keys) const;
  bool dropout() const { return problem.dropout.rate > 0; }

  // Error unless the view is that of q with so many columns, or of k or v, or of all pairs; one that is written must have memory for each
  // element (but sentences may share gradients of keys and values, which add up).
  void check_query_view(const ConstView& view, int64_t columns, const char* name) const;
  void check_query_view(const View& view, int64_t columns, const char* name) const;
  void check_key_view(const ConstView& view, int64_t columns, const char* name) const;
  void check_key_view(const View& view, int64_t columns, const char* name) const;
  void check_pair_view(const View& view, const char* name) const;

 private:
  int64_t offset(int64_t sentence, int64_t queries, int64_t keys) const;
};

// A step of decoding, one query a sentence: rows that see the same keys go through the kernel together, so that these are read once.
// The heads of a group, or, where all sentences share one cache, the sentences of a head.
enum class Together { kNothing, kGroup, kSentences };
Together rows_together(const Plan& plan);

// Sets the rows of a padded view past the sentence.
void fill_rest(const View& v, const Place& p, bool packed, int64_t head, float value);

// Throws Error where the views of a gradient do not fit the problem.
void check_gradient(const Plan& plan, const Gradient& g);

// Zeros in the gradient of a bias, wherever a pair of the problem has its sum.
void clear_bias(const Plan& plan, const Pairs<float>& dbias);

// The first element of (sentence's entry, head) at the sentence's first row.
inline float* start(const View& v, const Place& p, int64_t head) {
  return v.data + p.batch * v.batch_stride + head * v.head_stride + p.row * v.row_stride;
}
inline const float* start(const ConstView& v, const Place& p, int64_t head) {
  return static_cast<const float*>(v.data) + p.batch * v.batch_stride + head * v.head_stride + p.row * v.row_stride;
}

}  // namespace jumok::attention
