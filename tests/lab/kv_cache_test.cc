#include <gtest/gtest.h>

#include "base/error.h"
#include "lab/kv_cache_cost.h"

namespace jumok {
namespace {

KvCacheOptions small() {
  KvCacheOptions o;
  o.preset = "transformer-tiny";  // 4 layers, width 128
  o.vocabulary = 50;
  o.length = 40;
  o.passes = 1;
  return o;
}

TEST(KvCacheCost, ASourceMayBeLongerThanThePresetHasPositionsFor) {
  KvCacheOptions o = small();
  o.source_length = 1500;
  EXPECT_EQ(run_kv_cache(o).rows.size(), 3u);
}

// A first generation prepares what a process prepares but once; what it takes is no cost of the cache.
TEST(KvCacheCost, TheMeasuredGenerationsAreNotTheFirst) {
  KvCacheOptions o = small();
  std::vector<std::string> told;
  o.run.progress = [&](double, std::string_view text) { told.emplace_back(text); };
  run_kv_cache(o);
  EXPECT_EQ(told, (std::vector<std::string>{"warming up", "length 16", "length 32", "length 40"}));
}

TEST(KvCacheCost, AStepReadsWhatTheFormulaSays) {
  const KvCacheResult r = run_kv_cache(small());
  ASSERT_EQ(r.rows.size(), 3u);
  for (const KvCacheRow& row : r.rows) {
    EXPECT_EQ(row.formula_bytes, 2 * 4 * 128 * 4 * row.length);  // 2 · layers · d_kv · bytes · n
    EXPECT_EQ(row.read_bytes, row.formula_bytes);
    EXPECT_GE(row.reserved_bytes, row.read_bytes);
    for (const double s : {row.step_seconds, row.pass_seconds, row.attention_step_seconds, row.attention_pass_seconds}) EXPECT_GT(s, 0);
  }
  EXPECT_EQ(r.rows.back().length, 40);
}

// Tiny's decoder by hand: a layer has W_Q, W_K, W_V, W_O of self-attention and W_Q, W_O of cross-attention (128 × 128 with biases), two
// feed-forward products 128 ↔ 256 with biases, three layer norms of 2 · 128; the output layer is 50 × 128.
TEST(KvCacheCost, WeightsOfAStepLeaveOutTheProjectionsOfTheSource) {
  const KvCacheResult r = run_kv_cache(small());
  const int64_t layer = 6 * (128 * 128 + 128) + 2 * 128 * 256 + 256 + 128 + 3 * 2 * 128;
  EXPECT_EQ(r.crossings[0].preset, "transformer-tiny");
  EXPECT_EQ(r.crossings[0].weight_bytes, 4 * (4 * layer + 50 * 128));
  EXPECT_EQ(r.crossings[0].bytes_per_symbol, 2 * 4 * 128 * 4);
  EXPECT_DOUBLE_EQ(r.crossings[0].length(8), static_cast<double>(r.crossings[0].weight_bytes) / (8 * 4096));
}

// lm-tiny's decoder by hand: four matrices of self-attention (128 × 128 with biases), two feed-forward products 128 ↔ 512 with biases, two
// layer norms. Only a language model reads its prompt in one pass.
TEST(KvCacheCost, LanguageModelsAreMeasuredToo) {
  KvCacheOptions o = small();
  EXPECT_EQ(run_kv_cache(o).rows.back().prompt_seconds, 0);
  o.preset = "lm-tiny";
  const KvCacheResult r = run_kv_cache(o);
  ASSERT_EQ(r.rows.size(), 3u);
  for (const KvCacheRow& row : r.rows) {
    EXPECT_EQ(row.read_bytes, 2 * 4 * 128 * 4 * row.length);
    EXPECT_GT(row.pass_seconds, 0);
    EXPECT_GT(row.prompt_seconds, 0);
    EXPECT_GT(row.steps_seconds, row.step_seconds);
  }
  const int64_t layer = 4 * (128 * 128 + 128) + 2 * 128 * 512 + 512 + 128 + 2 * 2 * 128;
  ASSERT_EQ(r.crossings[4].preset, "lm-tiny");
  EXPECT_EQ(r.crossings[4].weight_bytes, 4 * (4 * layer + 50 * 128));
  EXPECT_NE(lab_text(report_of(r)).find("Reading a prompt"), std::string::npos);
}

TEST(KvCacheCost, OtherArchitecturesAreRefused) {
  KvCacheOptions o = small();
  o.preset = "rnn-bahdanau";
  EXPECT_THROW(run_kv_cache(o), Error);
  o = small();
  o.length = 8;
  EXPECT_THROW(run_kv_cache(o), Error);
}

}  // namespace
}  // namespace jumok
