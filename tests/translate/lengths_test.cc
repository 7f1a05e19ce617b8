// Sources of no word, of one and of two thousand, and windows larger than any of them: finite numbers for every mechanism.
#include <algorithm>
#include <cmath>

#include "mechanisms.h"

namespace jumok {
namespace {

using Lines = std::vector<std::string>;

constexpr int kMany = 2000;

std::string many(const std::string& word, int count = kMany) {
  std::string line = word;
  for (int i = 1; i < count; ++i) line += " " + word;
  return line;
}

class AnyLength : public EachMechanism {
 protected:
  const Lines lines_ = {"", "cat", many("a"), "A dog runs"};
  const std::vector<size_t> words_ = {0, 1, kMany, 3};
};

void expect_sound(const Alignment& a, size_t sources, size_t targets) {
  ASSERT_EQ(a.source_words.size(), sources);
  ASSERT_EQ(a.target_words.size(), targets);
  ASSERT_EQ(a.weights.size(), sources * targets);
  for (size_t t = 0; t < targets; ++t) {
    double sum = 0;
    for (size_t s = 0; s < sources; ++s) {
      const float w = a.weights[t * sources + s];
      ASSERT_TRUE(w >= 0 && w <= 1 + 1e-5f) << w << " at " << t << ", " << s;
      sum += w;
    }
    EXPECT_LE(sum, 1 + 1e-4) << t;
  }
  for (const auto& [s, t] : a.links) {
    EXPECT_TRUE(s >= 0 && static_cast<size_t>(s) < sources && t >= 0 && static_cast<size_t>(t) < targets);
  }
}

TEST_P(AnyLength, TranslationsAreFiniteAndThoseOfTheLineAlone) {
  TranslateOptions options{.beam = 3, .nbest = 2, .max_length = 5};
  options.alignments = true;
  const auto lists = one().translate(lines_, options);
  ASSERT_EQ(lists.size(), lines_.size());
  EXPECT_EQ(lists[0].front().text, "");
  for (const size_t i : {1, 2, 3}) {
    ASSERT_EQ(lists[i].size(), 2u);
    for (const Translation& t : lists[i]) {
      EXPECT_TRUE(std::isfinite(t.score) && t.log_prob < 0) << i;
      expect_sound(t.alignment, words_[i], t.alignment.target_words.size());
    }
    if (i == 2) continue;
    const Translation alone = one().translate(Lines{lines_[i]}, options).front().front();
    EXPECT_EQ(alone.symbols, lists[i].front().symbols);
    EXPECT_EQ(alone.log_prob, lists[i].front().log_prob);
  }
}

// A blank side is one end symbol.
TEST_P(AnyLength, ScoresOfPairsAreFinite) {
  const Lines sources = {"", "", "cat", "cat", lines_[2], "A dog runs", "A dog runs"},
              targets = {"", "A cat", "", "A cat", "The cat sits on the mat", "", "a"};
  const auto scores = one().score(sources, targets);
  for (size_t i = 0; i < scores.size(); ++i) {
    EXPECT_TRUE(std::isfinite(scores[i].log_prob) && scores[i].log_prob < 0) << i;
    EXPECT_EQ(scores[i].tokens == 1, targets[i].empty()) << i;
    if (i == 4) continue;  // alone it would take as long again
    EXPECT_EQ(scores[i].log_prob, one().score(Lines{sources[i]}, Lines{targets[i]}).front().log_prob) << i;
  }
}

TEST_P(AnyLength, AlignmentsAreFiniteAndBlankSidesHaveNone) {
  const Aligner aligner(folder(), {.threads = 1, .log = [](LogLevel, const std::string& text) { ADD_FAILURE() << text; }});
  const Lines targets = {"A cat", "", "The cat sits on the mat", "dog"};
  const std::vector<size_t> target_words = {2, 0, 6, 1};
  const auto found = aligner.align(lines_, targets);
  for (size_t i = 0; i < lines_.size(); ++i) expect_sound(found[i], words_[i], target_words[i]);
  EXPECT_TRUE(found[0].links.empty() && found[1].links.empty());
}

INSTANTIATE_TEST_SUITE_P(
    All, AnyLength,
    testing::Values(
        Mechanism{"bahdanau", "rnn-bahdanau", {}},
        Mechanism{"local_m", "rnn-luong-general", {"attention.window=local-m", "attention.half-width=1"}},
        Mechanism{"local_m_of_the_largest_window", "rnn-luong-dot", {"attention.window=local-m", "attention.half-width=65535"}},
        Mechanism{"local_p", "rnn-luong-general", {"attention.window=local-p", "attention.half-width=1"}},
        Mechanism{"local_p_of_the_largest_window", "rnn-bahdanau", {"attention.window=local-p", "attention.half-width=65535"}},
        Mechanism{"multi_head", "rnn-luong-dot", {"attention.score=multi-head", "attention.heads=4"}},
        Mechanism{"multi_head_local_p", "rnn-bahdanau", {"attention.score=multi-head", "attention.heads=2", "attention.window=local-p"}},
        Mechanism{"feeding", "rnn-luong-general", {"decoder.input-feeding=true"}},
        Mechanism{"location", "rnn-luong-location", {"attention.positions=3"}},
        // Where the window has left the positions that W_a knows, nothing is seen.
        Mechanism{
            "location_local_m", "rnn-luong-location", {"attention.positions=3", "attention.window=local-m", "attention.half-width=1"}},
        Mechanism{"transformer_additive", "transformer-tiny", {"cross-attention.score=additive"}}),
    mechanism_name);

// Where every word is one symbol, the window of local-m is a band of links along the diagonal.
TEST(TwoThousandWords, OfARecurrentAlignerHaveALinkEachWithinTheWindow) {
  const TemporaryFolder folder;
  write_mechanism({"local_m", "rnn-luong-general", {"attention.window=local-m", "attention.half-width=2"}}, folder.path());
  const auto subwords = load_model(folder.path()).subwords.source;
  std::string word;
  for (const auto& line : random_lines(200, 1, 17)) {
    if (word.empty() && subwords->encode(line).ids.size() == 1) word = line;
  }
  ASSERT_NE(word, "");
  const Alignment a = Aligner(folder.path(), {.threads = 1, .log = {}}).align(Lines{many(word)}, Lines{many(word)}).front();
  ASSERT_EQ(a.weights.size(), size_t{kMany} * kMany);
  ASSERT_EQ(a.links.size(), size_t{kMany});
  for (const auto& [s, t] : a.links) EXPECT_LE(std::abs(s - t), 2);
  for (int t = 0; t < kMany; ++t) {
    for (int s = 0; s < kMany; ++s) {
      const float w = a.weights[static_cast<size_t>(t) * kMany + static_cast<size_t>(s)];
      if ((w > 0) != (std::abs(s - t) <= 2)) FAIL() << w << " at " << t << ", " << s;
    }
  }
}

// The same parameters with and without the window.
TEST(AWindowLargerThanTheSentence, IsNoneForLocalM) {
  for (const Mechanism& m : {Mechanism{"dot", "rnn-luong-dot", {}}, Mechanism{"additive", "rnn-bahdanau", {}},
                             Mechanism{"feeding", "rnn-luong-concat", {"decoder.input-feeding=true"}},
                             Mechanism{"multi_head", "rnn-luong-dot", {"attention.score=multi-head", "attention.heads=2"}}}) {
    Mechanism local = m;
    local.settings.insert(local.settings.end(), {"attention.window=local-m", "attention.half-width=65535"});
    const TemporaryFolder folder, local_folder;
    write_mechanism(m, folder.path());
    write_mechanism(local, local_folder.path());
    const Lines lines = random_lines(4, 9, 4);
    TranslateOptions options{.beam = 3, .nbest = 3, .max_length = 20};  // longer than the sources
    options.alignments = true;
    const auto global = Translator(folder.path(), {.threads = 1, .log = {}}).translate(lines, options);
    const auto found = Translator(local_folder.path(), {.threads = 1, .log = {}}).translate(lines, options);
    for (size_t i = 0; i < lines.size(); ++i) {
      for (size_t k = 0; k < 3; ++k) {
        EXPECT_EQ(found[i][k].symbols, global[i][k].symbols) << m.name;
        EXPECT_EQ(found[i][k].log_prob, global[i][k].log_prob) << m.name;
        EXPECT_EQ(found[i][k].alignment.weights, global[i][k].alignment.weights) << m.name;
      }
    }
  }
}

}  // namespace
}  // namespace jumok
