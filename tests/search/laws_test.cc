// Laws that hold for every model: checked on random ones, against brute force and against other searches.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "search/beam.h"
#include "search/greedy.h"
#include "search/length_penalty.h"
#include "table_model.h"

namespace jumok {
namespace {

constexpr int32_t kStart = 0, kEnd = 1;

SearchOptions options(int beam, int nbest, double alpha, int max_length) {
  return {.beam = beam, .nbest = nbest, .alpha = alpha, .max_length = max_length, .start = kStart, .end = kEnd};
}

void expect_same_bits(const Hypothesis& a, const Hypothesis& b) {
  EXPECT_EQ(a.tokens, b.tokens);
  EXPECT_EQ(a.log_prob, b.log_prob);
  EXPECT_EQ(a.score, b.score);
  EXPECT_EQ(a.cut, b.cut);
}

// Every output up to a limit, best first, from the table itself in f64.
class BruteForce {
 public:
  BruteForce(Table table, int vocabulary, double alpha, int limit)
      : table_(std::move(table)), vocabulary_(vocabulary), alpha_(alpha), limit_(limit) {
    Symbols history{kStart};
    visit(history, 0);
    std::sort(all.begin(), all.end(), [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
  }
  std::vector<Hypothesis> all;

 private:
  void visit(Symbols& history, double log_prob) {
    const int length = static_cast<int>(history.size()) - 1;
    if (length == limit_) return record(history, log_prob, length, true);
    const std::vector<double> next = log_softmax(table_(0, history), {kStart});
    record(history, log_prob + next[kEnd], length + 1, false);
    for (int32_t symbol = 2; symbol < vocabulary_; ++symbol) {
      history.push_back(symbol);
      visit(history, log_prob + next[symbol]);
      history.pop_back();
    }
  }
  void record(const Symbols& history, double log_prob, int length, bool cut) {
    all.push_back({Symbols(history.begin() + 1, history.end()), log_prob, log_prob / std::pow(length, alpha_), cut});
  }
  Table table_;
  int vocabulary_;
  double alpha_;
  int limit_;
};

class Exhaustive : public testing::TestWithParam<double> {};

TEST_P(Exhaustive, BeamWithRoomForAllEqualsBruteForce) {
  const int vocabulary = 5, limit = 4, everything = 200;  // 1 + 3 + 9 + 27 finished and 81 cut outputs
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Table table = random_table(vocabulary, seed);
    const BruteForce expected(table, vocabulary, GetParam(), limit);
    ASSERT_EQ(expected.all.size(), 121u);
    for (const int nbest : {1, 7, 121}) {
      TableModel model(vocabulary, table);
      const auto list = beam_search(model, options(everything, nbest, GetParam(), limit))[0];
      ASSERT_EQ(static_cast<int>(list.size()), nbest);
      for (int i = 0; i < nbest; ++i) {
        EXPECT_EQ(list[i].tokens, expected.all[i].tokens) << "seed " << seed << " entry " << i;
        EXPECT_NEAR(list[i].log_prob, expected.all[i].log_prob, 1e-5);
        EXPECT_NEAR(list[i].score, expected.all[i].score, 1e-5);
        EXPECT_EQ(list[i].cut, expected.all[i].cut);
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Alpha, Exhaustive, testing::Values(0., .6, 1., 2.));

// Beam 10 with 4 usable symbols.
TEST(Laws, BeamLargerThanTheVocabularyFindsTheBestOutput) {
  const Table table = random_table(5, 77);
  TableModel model(5, table);
  const auto list = beam_search(model, options(10, 10, 1, 3))[0];
  const BruteForce expected(table, 5, 1, 3);
  EXPECT_EQ(list[0].tokens, expected.all[0].tokens);
  EXPECT_NEAR(list[0].score, expected.all[0].score, 1e-5);
  EXPECT_EQ(list.size(), 10u);
  // 3 words after the first step (the empty output has ended), then the other 9 places, all of them open or ended with the second.
  EXPECT_EQ(model.rows_per_step[1], 3);
  EXPECT_GE(model.rows_per_step[2], 6);
}

TEST(Laws, BoundIsNeverBelowAScoreThatIsReached) {
  for (const double alpha : {0., .6, 1., 2.}) {
    const BruteForce outputs(random_table(5, 3), 5, alpha, 4);
    for (const Hypothesis& whole : outputs.all) {
      for (const Hypothesis& part : outputs.all) {
        if (!part.cut || whole.tokens.size() > part.tokens.size()) continue;  // `whole` as an open beginning of `part`
        if (!std::equal(whole.tokens.begin(), whole.tokens.end(), part.tokens.begin())) continue;
        const double open = forced_log_prob(random_table(5, 3), 0, {kStart}, whole.tokens, -1, {kStart});
        EXPECT_GE(best_reachable_score(open, 4, alpha), part.score - 1e-12);
      }
    }
  }
}

TEST(Laws, BeamOfOneEqualsGreedyBitForBit) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const int vocabulary = 3 + static_cast<int>(seed % 9);
    const Table table = random_table(vocabulary, seed);
    TableModel first(vocabulary, table, {0, 1, 2}, {2, 9, 4}), second(vocabulary, table, {0, 1, 2}, {2, 9, 4});
    const auto lists = beam_search(first, options(1, 1, 1, 0));
    const auto greedy = greedy_search(second, options(1, 1, 1, 0));
    for (int s = 0; s < 3; ++s) {
      ASSERT_EQ(lists[s].size(), 1u);
      expect_same_bits(lists[s][0], greedy[s]);
    }
    EXPECT_EQ(first.rows_per_step, second.rows_per_step);
  }
}

TEST(Laws, GreedyIsTheArgMaxOfEveryStep) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Table table = random_table(6, seed);
    TableModel model(6, table);
    const Hypothesis found = greedy_search(model, options(1, 1, 1, 12))[0];
    Symbols history{kStart};
    while (history.size() <= 12 && history.back() != kEnd) {
      const std::vector<float> logits = table(0, history);
      history.push_back(static_cast<int32_t>(std::max_element(logits.begin() + 1, logits.end()) - logits.begin()));
    }
    const bool ended = history.back() == kEnd;
    EXPECT_EQ(found.tokens, Symbols(history.begin() + 1, history.end() - (ended ? 1 : 0)));
    EXPECT_EQ(found.cut, !ended);
    EXPECT_NEAR(found.log_prob, forced_log_prob(table, 0, {kStart}, found.tokens, ended ? kEnd : -1, {kStart}), 1e-5);
  }
}

// All forced symbols at once, where the model can read them so: the same outputs from fewer rows.
TEST(Laws, PrefixesReadAtOnceGiveWhatTheyGiveSymbolBySymbol) {
  const std::vector<int> sources{0, 1, 2, 3}, lengths{4, 4, 4, 4};
  const std::vector<Symbols> prefixes{{}, {5}, {3, 4, 5, 6, 2}, {2, 2}};
  for (uint64_t seed = 0; seed < 20; ++seed) {
    TableModel slow(9, random_table(9, seed), sources, lengths), fast = slow;
    fast.reads_prompts = true;
    const auto expected = greedy_search(slow, options(1, 1, 1, 0), prefixes), found = greedy_search(fast, options(1, 1, 1, 0), prefixes);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t s = 0; s < found.size(); ++s) expect_same_bits(found[s], expected[s]);
    const auto rows = [](const TableModel& m) { return std::accumulate(m.rows_per_step.begin(), m.rows_per_step.end(), 0); };
    EXPECT_EQ(rows(fast), rows(slow) - 8);  // of the eight forced symbols none has a row of its own
    EXPECT_EQ(fast.rows_per_step.front(), 4);
  }
}

// The batch law: short and long sources, some that end at once, each with its own prefix.
TEST(Laws, SentencesOfABatchGiveWhatTheyGiveAloneBitForBit) {
  const int vocabulary = 9;
  const std::vector<int> sources{0, 1, 2, 3, 4, 5}, lengths{12, 1, 9, 1, 2, 5};
  const std::vector<Symbols> prefixes{{}, {5}, {3, 4, 5}, {}, {2, 2}, {}};
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Table random = random_table(vocabulary, seed);
    const Table table = [&](int source, const Symbols& history) {
      std::vector<float> logits = random(source, history);
      if (source == 1 || source == 3) logits[kEnd] = 20;
      return logits;
    };
    for (const int beam : {1, 3, 5}) {
      TableModel batch(vocabulary, table, sources, lengths);
      const auto together = beam_search(batch, options(beam, beam, 1, 0), prefixes);
      EXPECT_TRUE(batch.adjacent);
      for (size_t s = 0; s < sources.size(); ++s) {
        TableModel single(vocabulary, table, {sources[s]}, {lengths[s]});
        const std::vector<Symbols> prefix{prefixes[s]};
        const auto alone = beam_search(single, options(beam, beam, 1, 0), prefix)[0];
        ASSERT_EQ(together[s].size(), alone.size());
        for (size_t i = 0; i < alone.size(); ++i) expect_same_bits(together[s][i], alone[i]);
      }
    }
  }
}

TEST(Laws, FinishedSentencesLeaveTheBatch) {
  const Table table = [](int source, const Symbols& history) {
    const bool over = static_cast<int>(history.size()) > source;
    return std::vector<float>{kNever, over ? 20.f : -20.f, 1, 0};
  };
  TableModel model(4, table, {3, 1, 5});
  beam_search(model, options(1, 1, 1, 0));
  EXPECT_EQ(model.rows_per_step, (std::vector<int>{3, 3, 2, 2, 1, 1}));
}

// The score law: whatever was kept, copied or dropped, a hypothesis has the score of feeding it anew.
TEST(Laws, ScoresEqualForcedDecodingOfTheSameOutput) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const Table table = random_table(12, seed);
    TableModel model(12, table, {0, 1, 2}, {1, 3, 6});
    const auto lists = beam_search(model, options(5, 5, 1, 0));
    for (int s = 0; s < 3; ++s) {
      std::set<Symbols> different;
      ASSERT_EQ(lists[s].size(), 5u);
      for (size_t i = 0; i < 5; ++i) {
        const Hypothesis& h = lists[s][i];
        different.insert(h.tokens);
        EXPECT_NEAR(h.log_prob, forced_log_prob(table, s, {kStart}, h.tokens, h.cut ? -1 : kEnd, {kStart}), 1e-4);
        EXPECT_DOUBLE_EQ(h.score, h.log_prob / (h.tokens.size() + (h.cut ? 0 : 1)));
        EXPECT_GE(lists[s][i == 0 ? 0 : i - 1].score, h.score);
      }
      EXPECT_EQ(different.size(), 5u);
    }
  }
}

TEST(Laws, BestOutputDoesNotDependOnTheLengthOfTheList) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const Table table = random_table(10, seed, 2.5);
    TableModel longer(10, table), single(10, table);
    const auto list = beam_search(longer, options(4, 4, 1, 0))[0];
    expect_same_bits(beam_search(single, options(4, 1, 1, 0))[0][0], list[0]);
    EXPECT_LE(single.rows_per_step.size(), longer.rows_per_step.size());
  }
}

TEST(Laws, PrefixIsTheSameAsAModelThatHasReadIt) {
  const Table table = random_table(8, 5);
  const Symbols prefix{4, 7, 2};
  const Table moved = [&](int source, const Symbols& history) {
    Symbols whole{kStart};
    whole.insert(whole.end(), prefix.begin(), prefix.end());
    whole.insert(whole.end(), history.begin() + 1, history.end());
    return table(source, whole);
  };
  TableModel with(8, table), without(8, moved);
  const std::vector<Symbols> prefixes{prefix};
  const auto forced = beam_search(with, options(3, 3, 1, 0), prefixes)[0], free = beam_search(without, options(3, 3, 1, 0))[0];
  ASSERT_EQ(forced.size(), free.size());
  for (size_t i = 0; i < free.size(); ++i) expect_same_bits(forced[i], free[i]);
}

}  // namespace
}  // namespace jumok
