// The kernel of the RNN attentions against its definition in float64, the definition against finite differences and PyTorch.
#include "kernels/row_attention.h"

#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <random>

#include "row_attention_case.h"
#include "row_attention_golden.h"

namespace jumok::kernels {
namespace {

class RowAttentionOnEachTarget : public EachTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, RowAttentionOnEachTarget, ::testing::ValuesIn(supported_targets()), target_name);

constexpr RowScore kScores[] = {RowScore::kDot, RowScore::kAdditive, RowScore::kGiven};

void compare_with_definition(const RowShape& shape, uint64_t seed = 1) {
  SCOPED_TRACE(describe(shape));
  RowCase actual(shape, seed), expected(shape, seed);
  actual.run();
  expected.run_definition();
  expect_agreement(actual, expected);
}

TEST_P(RowAttentionOnEachTarget, EveryScoreWindowGaussianAndHeadCountAgreesWithTheDefinition) {
  for (const RowScore score : kScores) {
    for (const int window : {-1, 0, 3}) {
      for (const bool gaussian : {false, true}) {
        for (const int heads : {1, 2, 3}) {
          for (const float rate : {0.0f, 0.3f}) compare_with_definition({{23, 1}, {17, 4}, score, heads, 10, 6, window, gaussian, rate});
        }
      }
    }
  }
}

// Widths and lengths around those of a vector, a strip and a block, in memory that ends with its last element.
TEST_P(RowAttentionOnEachTarget, Att20WidthsAroundAVectorAgreeWithTheDefinition) {
  for (const int64_t width : lengths()) {
    const auto d = static_cast<int>(width);
    for (const RowScore score : {RowScore::kDot, RowScore::kAdditive}) {
      compare_with_definition({{3}, {6}, score, 1, d, d, -1, false, 0, 0, d % 4});
      compare_with_definition({{2}, {5}, score, 2, d, 7, 2, true, 0.3f, 1, d % 4});
    }
  }
}

TEST_P(RowAttentionOnEachTarget, Att20LengthsAroundAStripABlockAndAChunkAgreeWithTheDefinition) {
  for (const RowScore score : kScores) {
    for (const int32_t keys : {0, 1, 2, 3, 4, 5, 8, 31, 255, 256, 257, 515}) {
      for (const int32_t queries : {0, 1, 4, 5, 9}) compare_with_definition({{queries}, {keys}, score, 1, 3, 2, -1, false, 0, 0, 0});
      compare_with_definition({{9}, {keys}, score, 2, 3, 2, 6, true, 0, 0, 0});
    }
  }
}

// Masks and biases, and what they broadcast over, with every other option.
TEST_P(RowAttentionOnEachTarget, EveryMaskAndBiasAgreesWithTheDefinition) {
  for (const RowScore score : kScores) {
    for (int options = 0; options < 128; ++options) {
      const auto on = [&](int bit) { return (options >> bit & 1) != 0; };
      if (!on(0) && !on(1)) continue;
      RowShape s{{9, 1, 4}, {17, 4, 0}, score, 2, 10, 6, on(2) ? 3 : -1, on(3), on(3) ? 0.3f : 0.0f};
      s.mask = on(0), s.bias = on(1), s.same_heads = on(4), s.same_queries = on(5), s.same_keys = on(6);
      compare_with_definition(s, static_cast<uint64_t>(options));
    }
    for (const int32_t keys : {1, 3, 4, 5, 255, 256, 257, 700}) {
      RowShape s{{9}, {keys}, score, 1, 3, 2, -1, true, 0.3f, 0, 0};
      s.mask = true;
      compare_with_definition(s);
      s.bias = true;
      compare_with_definition(s);
    }
  }
}

TEST_P(RowAttentionOnEachTarget, LongSentencesAndWideRowsAgreeWithTheDefinition) {
  for (const RowScore score : kScores) {
    compare_with_definition({{3}, {2000}, score, 1, 5, 3, -1, true, 0.3f});
    compare_with_definition({{2}, {7}, score, 1, 1024, 1023, -1, false});
    compare_with_definition({{2}, {7}, score, 2, 509, 512, 2, true});
  }
}

TEST_P(RowAttentionOnEachTarget, RandomShapesAgreeWithTheDefinition) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  const auto below = [&](uint64_t n) { return static_cast<int>(rng.below(n)); };
  for (int draw = 0; draw < 60 && !HasFailure(); ++draw) {
    RowShape s;
    for (int b = 1 + below(4); b > 0; --b) {
      s.queries.push_back(below(12));
      s.keys.push_back(below(below(6) == 0 ? 400 : 30));
    }
    s.score = kScores[below(3)];
    s.heads = 1 + below(4);
    s.key_width = 1 + below(40);
    s.value_width = 1 + below(40);
    s.window = below(12) - 2;
    s.gaussian = below(2);
    s.rate = below(2) ? 0.3f : 0.0f;
    s.gap = below(20);
    s.mask = below(2), s.bias = below(2);
    s.same_heads = below(3) == 0, s.same_queries = below(3) == 0, s.same_keys = below(8) == 0;
    s.offset = below(4);
    compare_with_definition(s, rng.bits() >> 8);
  }
}

TEST_P(RowAttentionOnEachTarget, ReturnedWeightsAreTheDefinitions) {
  for (const RowScore score : kScores) {
    for (int options = 0; options < 16; ++options) {
      RowShape shape{{2, 12}, {3, 300}, score, 2, 10, 4, (options & 1) != 0 ? 4 : -1, (options & 2) != 0, 0.5f};
      shape.mask = (options & 4) != 0, shape.bias = (options & 8) != 0;
      RowCase a(shape);
      for (const auto& [sentence, head] : {std::pair{0, 0}, {1, 1}}) {
        const std::vector<float> weights = a.weights(sentence, head);
        std::vector<float> expected(weights.size(), RowCase::kNaN);
        ref::row_attention_weights(a.attention(), sentence, head, expected.data());
        const int64_t queries = a.shape.queries[static_cast<size_t>(sentence)], keys = a.shape.keys[static_cast<size_t>(sentence)];
        EXPECT_TRUE(close({weights.data(), queries, keys, keys}, {expected.data(), queries, keys, keys}, 1e-5, 1e-7)) << describe(a.shape);
      }
    }
  }
}

// With one key, one column and u = 1 the log-sum-exp is the score, tanh(q): another sample of all floats with every run.
TEST_P(RowAttentionOnEachTarget, TheTanhOfTheScoreIsWithinItsUlps) {
  const bool fused = GetParam() <= HWY_AVX2;
  const uint32_t start = std::random_device{}() % 9973;
  SCOPED_TRACE("first float " + std::to_string(start));
  std::vector<float> q;
  for (uint64_t bits = start; bits < (uint64_t{1} << 32); bits += 9973) q.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  const float zero = 0, one = 1;
  const int32_t begin = 0, keys = 1, queries = static_cast<int32_t>(q.size());
  std::vector<float> out(q.size()), lse(q.size());
  RowAttention in;
  in.q = {q.data(), queries, 1, 1};
  in.k = {&zero, 1, 1, 1};
  in.v = {&zero, 1, 1, 1};
  in.u = &one;
  in.batch = {1, &begin, &queries, &begin, &keys};
  in.score = RowScore::kAdditive;
  in.key_width = in.value_width = 1;
  row_attention_forward(in, {out.data(), queries, 1, 1}, lse.data());
  double worst = 0;
  for (size_t i = 0; i < q.size(); ++i) {
    const double expected = std::tanh(static_cast<double>(q[i]));
    if (std::isnan(q[i])) {
      ASSERT_TRUE(std::isnan(lse[i]));
      continue;
    }
    if (std::abs(q[i]) < 1e-30f) continue;  // q·q is denormal or 0, and so is tanh(q)'s last place
    const float rounded = std::abs(static_cast<float>(expected));
    const double ulp = static_cast<double>(std::nextafter(rounded, 1e38f)) - rounded;
    worst = std::max(worst, std::abs(lse[i] - expected) / ulp);
    ASSERT_LE(std::abs(lse[i]), 1.0f);
  }
  EXPECT_LE(worst, fused ? 5.0 : 6.1);
}

// ---- PyTorch's numbers ----

void put(const std::vector<double>& values, ConstRows rows) {
  for (size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const_cast<float*>(rows.row(at / rows.columns))[at % rows.columns] = static_cast<float>(values[i]);
  }
}
void expect_values(const std::vector<double>& values, ConstRows rows, const char* what) {
  for (size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    EXPECT_NEAR(rows.row(at / rows.columns)[at % rows.columns], values[i], 4e-6) << what << " " << i;
  }
}
// The case as the script describes it.
RowCase golden_case(const golden::RowAttentionValues& g) {
  RowCase a({{3}, {5}, g.score, 2, g.score == RowScore::kGiven ? 5 : 3, 2, g.local ? 1 : -1, g.local});
  put(g.q, a.query_rows(a.q, 0));
  put(g.k, a.key_rows(a.k, 0));
  put(g.v, a.key_rows(a.v, 0));
  put(g.u, a.u.view());
  put(g.centre, a.query_rows(a.centre, 0));
  put(g.dout, a.query_rows(a.dout, 0));
  for (size_t i = 0; i < g.centre.size(); ++i) {
    const auto middle = static_cast<int32_t>(std::floor(g.centre[i]));
    a.first[1 + i] = middle - 1;
    a.last[1 + i] = middle + 2;
  }
  a.scale = 0.7f;
  a.sigma = 1.5f;
  return a;
}

TEST_P(RowAttentionOnEachTarget, ValuesAndGradientsAreThoseOfPyTorch) {
  for (const golden::RowAttentionValues& g : golden::row_attention) {
    RowCase a = golden_case(g);
    SCOPED_TRACE(describe(a.shape));
    a.run();
    for (int head = 0; head < 2; ++head) {
      const std::vector<float> weights = a.weights(0, head);
      expect_values({g.weights.begin() + head * 15, g.weights.begin() + (head + 1) * 15}, {weights.data(), 3, 5, 5}, "weights");
    }
    expect_values(g.out, a.query_rows(a.out, 0), "out");
    expect_values(g.dq, a.query_rows(a.dq, 0), "dq");
    expect_values(g.dk, a.key_rows(a.dk, 0), "dk");
    expect_values(g.dv, a.key_rows(a.dv, 0), "dv");
    expect_values(g.du, a.du.view(), "du");
    expect_values(g.dcentre, a.query_rows(a.dcentre, 0), "dcentre");
  }
}

// ---- the definition itself ----

std::vector<double> normals(int64_t n, uint64_t key) {
  std::vector<double> values(static_cast<size_t>(n));
  Rng rng(key);
  for (double& x : values) x = rng.normal();
  return values;
}

// loss = Σ dout ∘ out; every element of every gradient against a central difference.
void check_differences(RowScore score, bool window, bool gaussian, bool dropout, bool pairs) {
  const int64_t queries = 4, keys = 5, width = 6, value_width = 2;
  std::vector<double> q = normals(queries * width, 1), k = normals(keys * width, 2), v = normals(keys * value_width, 3),
                      u = normals(width, 4);
  std::vector<double> centre = {0.3, 4.2, -1.5, 2.6}, kept;
  const std::vector<double> dout = normals(queries * value_width, 5);
  const std::vector<int64_t> first = {0, 3, 2, 1}, last = {2, 5, 2, 4};
  for (int64_t i = 0; i < queries * keys; ++i) kept.push_back(i % 3 == 1 ? 0.0 : 1.5);
  ref::RowProblem in{score, queries, keys, width, value_width, q.data(), k.data(), v.data(), u.data(), 0.6};
  if (window) in.first = first.data(), in.last = last.data();
  if (gaussian) in.centre = centre.data();
  in.sigma = 1.25;
  if (dropout) in.kept = kept.data();
  std::vector<double> bias = normals(queries * keys, 6);
  std::vector<uint8_t> mask;
  for (int64_t i = 0; i < queries * keys; ++i) mask.push_back(i % 4 != 2);
  bias[3] = -std::numeric_limits<double>::infinity();
  if (pairs) in.mask = mask.data(), in.bias = bias.data();

  std::vector<double> dq(q.size()), dk(k.size()), dv(v.size()), du(u.size()), dcentre(centre.size()), dbias(bias.size());
  ref::row_attention_backward(in, dout.data(), {dq.data(), dk.data(), dv.data(), du.data(), dcentre.data(), dbias.data()});
  const auto loss = [&] {
    std::vector<double> weights(static_cast<size_t>(queries * keys)), out(dout.size()), lse(static_cast<size_t>(queries));
    ref::row_attention_forward(in, {weights.data(), out.data(), lse.data()});
    double sum = 0;
    for (size_t i = 0; i < out.size(); ++i) sum += out[i] * dout[i];
    return sum;
  };
  const auto check = [&](std::vector<double>& values, const std::vector<double>& gradient, const char* what) {
    for (size_t i = 0; i < values.size(); ++i) {
      const double x = values[i], step = 1e-5;
      values[i] = x + step;
      const double high = loss();
      values[i] = x - step;
      const double low = loss();
      values[i] = x;
      EXPECT_NEAR(gradient[i], (high - low) / (2 * step), 1e-8) << what << " " << i;
    }
  };
  check(q, dq, "dq");
  check(k, dk, "dk");
  check(v, dv, "dv");
  check(u, du, "du");
  check(centre, dcentre, "dcentre");
  if (pairs) check(bias, dbias, "dbias");
}

TEST(RowAttentionDefinition, GradientsAreThoseOfFiniteDifferences) {
  for (const RowScore score : kScores) {
    for (int options = 0; options < 16; ++options) {
      SCOPED_TRACE(::testing::Message() << "score " << static_cast<int>(score) << " options " << options);
      check_differences(score, (options & 1) != 0, (options & 2) != 0, (options & 4) != 0, (options & 8) != 0);
    }
  }
}

}  // namespace
}  // namespace jumok::kernels
