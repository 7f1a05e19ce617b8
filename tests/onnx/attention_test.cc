// ONNX's operator Attention (opsets 23 to 25) through jumok/attention.h: every case, no exception.
//   past_key, past_value   stand in front of K and V: the caller's memory, so the test joins them
//   is_causal              query i sits at past + i, or, where lengths of the keys are given, at length - T + i
//   masks                  boolean: true may attend; float: added; broadcast; one shorter than S blocks the rest
#include <jumok/attention.h>

#include <limits>

#include "onnx_case.h"

namespace jumok::onnx {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct AttentionInput {
  std::vector<float> k, v;  // [B, G, S, d], past in front
  std::vector<float> bias;  // [.., S] broadcast, or
  std::vector<uint8_t> allowed;
  std::vector<int64_t> lengths;
  attention::Problem p;
  Tensor q;
};

// [B, G, past + S, d] from [B, S, G·d] or [B, G, S, d] and, where there is one, [B, G, past, d].
std::vector<float> joined(const Tensor& past, const Tensor& now, int64_t groups, int64_t& rows, int64_t& width) {
  const bool flat = now.rank() == 3;
  const int64_t batch = now.dim(0), count = flat ? now.dim(1) : now.dim(2), before = past.shape.empty() ? 0 : past.dim(2);
  width = flat ? now.dim(2) / groups : now.dim(3);
  rows = before + count;
  std::vector<float> all;
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t g = 0; g < groups; ++g) {
      const float* first = past.values.data() + (b * groups + g) * before * width;
      all.insert(all.end(), first, first + before * width);
      for (int64_t r = 0; r < count; ++r) {
        const int64_t at = flat ? (b * count + r) * groups * width + g * width : ((b * groups + g) * count + r) * width;
        all.insert(all.end(), now.values.data() + at, now.values.data() + at + width);
      }
    }
  }
  return all;
}

// The last dimension made S long: what a shorter mask does not reach is blocked.
template <typename T>
attention::Pairs<const T> broadcast(const Tensor& mask, int64_t keys, T blocked, std::vector<T>& memory) {
  const int64_t last = mask.dim(mask.rank() - 1), rows = mask.size() / last;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < keys; ++j)
      memory.push_back(j < last ? static_cast<T>(mask.values[static_cast<size_t>(r * last + j)]) : blocked);
  }
  int64_t strides[4] = {0, 0, 0, 1}, step = keys;  // of B, H, T, S
  for (int64_t back = 2; back <= mask.rank(); ++back) {
    const int64_t n = mask.dim(mask.rank() - back);
    strides[4 - back] = n == 1 ? 0 : step;
    step *= n;
  }
  return {memory.data(), strides[0], strides[1], strides[2], strides[3]};
}

AttentionInput read_input(const Case& c) {
  AttentionInput in;
  in.q = c.input("Q");
  const Tensor k = c.input("K"), v = c.input("V");
  const bool flat = in.q.rank() == 3;
  const int64_t heads = flat ? c.attribute<int64_t>("q_num_heads", 0) : in.q.dim(1);
  const int64_t groups = flat ? c.attribute<int64_t>("kv_num_heads", 0) : k.dim(1);
  const int64_t batch = in.q.dim(0), queries = flat ? in.q.dim(1) : in.q.dim(2), width = flat ? in.q.dim(2) / heads : in.q.dim(3);
  int64_t keys = 0, key_width = 0, value_width = 0;
  in.k = joined(c.has_input("past_key") ? c.input("past_key") : Tensor{}, k, groups, keys, key_width);
  in.v = joined(c.has_input("past_value") ? c.input("past_value") : Tensor{}, v, groups, keys, value_width);
  const float* q = in.q.values.data();
  in.p.q = flat ? attention::interleaved(q, batch, heads, queries, width) : attention::dense(q, batch, heads, queries, width);
  in.p.k = attention::dense(in.k.data(), batch, groups, keys, key_width);
  in.p.v = attention::dense(in.v.data(), batch, groups, keys, value_width);
  if (c.attribute<double>("scale", 0) != 0) in.p.scale = static_cast<float>(c.attribute<double>("scale", 0));
  attention::Rules& rules = in.p.rules;
  rules.causal = c.attribute<int>("is_causal", 0) != 0;
  rules.left = c.attribute<int64_t>("left_window_size", -1);
  rules.right = c.attribute<int64_t>("right_window_size", -1);
  if (c.has_input("nonpad_kv_seqlen")) {
    in.lengths = c.input("nonpad_kv_seqlen").integers;
    in.p.keys.length = in.lengths.data();
  } else {
    rules.offset = c.has_input("past_key") ? c.input("past_key").dim(2) : 0;
  }
  if (!c.has_input("attn_mask")) return in;
  const Tensor mask = c.input("attn_mask");
  if (c.is_boolean("attn_mask")) {
    rules.mask = broadcast<uint8_t>(mask, keys, 0, in.allowed);
  } else {
    rules.bias = broadcast<float>(mask, keys, -kInfinity, in.bias);
  }
  return in;
}

// Output 3: 0 scaled scores before any rule, 2 after mask and bias, 3 weights.
void expect_pairs(const Case& c, const AttentionInput& in) {
  const int mode = c.attribute<int>("qk_matmul_output_mode", 0);
  attention::Problem p = in.p;
  const int64_t count = p.q.batch * p.q.heads * p.q.rows * p.k.rows;
  std::vector<float> pairs(static_cast<size_t>(count));
  const attention::View view = attention::dense(pairs.data(), p.q.batch, p.q.heads, p.q.rows, p.k.rows);
  if (mode == 0) p.rules = {};
  mode == 3 ? attention::weights(p, view) : attention::scores(p, view);
  expect_values(pairs, c.output("qk_matmul_output"), "qk_matmul_output");
}

TEST(Onnx, AttentionThroughThePublicHeader) {
  const SafetensorsFile file = data_file("attention");
  const std::vector<Case> cases = cases_of("Attention", file);
  EXPECT_EQ(cases.size(), 31u);
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name());
    const AttentionInput in = read_input(c);
    const attention::Problem& p = in.p;
    const Tensor expected = c.output("Y");
    std::vector<float> out(static_cast<size_t>(expected.size()));
    attention::forward(p, {.out = in.q.rank() == 3 ? attention::interleaved(out.data(), p.q.batch, p.q.heads, p.q.rows, p.v.columns)
                                                   : attention::dense(out.data(), p.q.batch, p.q.heads, p.q.rows, p.v.columns)});
    expect_values(out, expected, "Y");
    if (c.has_output("qk_matmul_output")) expect_pairs(c, in);
    if (c.has_output("present_key")) expect_values(in.k, c.output("present_key"), "present_key");
    if (c.has_output("present_value")) expect_values(in.v, c.output("present_value"), "present_value");
  }
}

}  // namespace
}  // namespace jumok::onnx
