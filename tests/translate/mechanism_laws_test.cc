// The laws of translation for every mechanism: search and forced decoding agree, and neither batch nor threads nor neighbours change a bit.
#include <cmath>
#include <numeric>
#include <tuple>

#include "mechanisms.h"
#include "translate/decode.h"

namespace jumok {
namespace {

using Lines = std::vector<std::string>;
using Symbols = std::vector<std::vector<int32_t>>;  // a line each

class MechanismLaws : public EachMechanism {};

// Everything a translation holds.
auto bits(const Translation& t) {
  return std::tuple(t.text, t.score, t.log_prob, t.cut, t.symbols, t.alignment.links, t.alignment.weights, t.alignment.target_words);
}

TEST_P(MechanismLaws, NeitherBatchNorThreadsChangeABitOfAnNBestList) {
  const Lines lines = random_lines(12, 9, 3);
  TranslateOptions options{.beam = 5, .nbest = 5, .max_length = 6};
  options.alignments = attends();
  const auto expected = one().translate(lines, options);
  options.batch_tokens = 1;  // each line alone
  const auto alone = one().translate(lines, options);
  options.batch_tokens = 48;  // about three lines a batch
  const auto parts = Translator(folder(), {.threads = 2, .log = {}}).translate(lines, options);
  for (size_t i = 0; i < lines.size(); ++i) {
    ASSERT_EQ(expected[i].size(), 5u);
    for (size_t k = 0; k < 5; ++k) {
      EXPECT_EQ(bits(alone[i][k]), bits(expected[i][k])) << lines[i];
      EXPECT_EQ(bits(parts[i][k]), bits(expected[i][k])) << lines[i];
    }
  }
}

// log P of target symbols given the source's, from a pass over all of them; the end symbol counts where the target has one.
double forced_log_prob(const LoadedModel& model, const std::vector<int32_t>& source, const std::vector<int32_t>& symbols, bool ends) {
  const PackedRows sources = pack_source(Symbols{source});
  const PackedTarget target = pack_target(Symbols{symbols});
  PairBatch batch{sources, target};
  const std::vector<int32_t> forbidden = never_produced();
  batch.forbidden = forbidden;
  Arena arena;
  Context context{arena, model.parameters->data()};
  std::vector<float> nll(target.labels.size());
  model.model->nll(context, batch, nll.data());
  return -std::accumulate(nll.begin(), nll.end() - (ends ? 0 : 1), 0.0);
}

// The search's score of its symbols and score()'s of their text are those of one pass over the same symbols. They are each other's where
// the text is cut into the symbols that the search chose.
TEST_P(MechanismLaws, TheScoreOfEveryNBestEntryOfABeamOfFiveIsThatOfTheSamePair) {
  const LoadedModel model = load_model(folder());
  for (const double alpha : {0.0, 1.0}) {
    for (const std::string& line : random_lines(10, 8, 9)) {
      const std::vector<int32_t> source = model.subwords.source->encode(line).ids;
      const auto list = one().translate(Lines{line}, {.beam = 5, .nbest = 5, .alpha = alpha, .max_length = 7}).front();
      ASSERT_EQ(list.size(), 5u);
      Lines texts;
      for (const Translation& t : list) texts.push_back(t.text);
      const auto scores = one().score(Lines(5, line), texts);
      for (size_t k = 0; k < 5; ++k) {
        const Translation& t = list[k];
        const double searched = forced_log_prob(model, source, t.symbols, !t.cut);
        EXPECT_NEAR(t.log_prob, searched, 1e-5) << line << " – " << t.text;
        EXPECT_NEAR(t.score, searched / std::pow(t.symbols.size() + (t.cut ? 0 : 1), alpha), 1e-5) << line << " – " << t.text;
        const std::vector<int32_t> symbols = model.subwords.target->encode(t.text).ids;
        EXPECT_NEAR(scores[k].log_prob, forced_log_prob(model, source, symbols, true), 1e-5) << line << " – " << t.text;
        EXPECT_EQ(scores[k].tokens, std::ssize(symbols) + 1);
        if (symbols == t.symbols && !t.cut) {
          EXPECT_NEAR(t.log_prob, scores[k].log_prob, 1e-5) << line << " – " << t.text;
        }
      }
    }
  }
}

// Two and nine words, in one batch: no link of the short pair points beyond its words, and none changes.
TEST_P(MechanismLaws, PairsOfTwoAndNineWordsHaveTheSameLinksAloneAndTogether) {
  if (!attends()) return;
  const Aligner aligner(folder(), {.threads = 1, .log = {}});
  const Lines sources = {"The cat", "A dog runs over the green field in snow", "My brother", "Birds sing in the tall yew at the party"};
  const Lines targets = {"A dog", "The teacher writes on the board with a lamp", "The children play with a red ball at seven", "Two men"};
  const auto together = aligner.align(sources, targets);
  const auto backwards = aligner.align(Lines(sources.rbegin(), sources.rend()), Lines(targets.rbegin(), targets.rend()));
  for (size_t i = 0; i < sources.size(); ++i) {
    const Alignment alone = aligner.align(Lines{sources[i]}, Lines{targets[i]}).front();
    EXPECT_EQ(alone.links, together[i].links) << sources[i];
    EXPECT_EQ(alone.weights, together[i].weights) << sources[i];
    EXPECT_EQ(alone.links, backwards[sources.size() - 1 - i].links) << sources[i];
    const int words = i % 2 == 0 ? 2 : 9, target_words = i == 0 || i == 3 ? 2 : 9;
    EXPECT_EQ(std::ssize(alone.source_words), words);
    EXPECT_EQ(std::ssize(alone.target_words), target_words);
    EXPECT_EQ(std::ssize(alone.links), target_words);  // each target word has its best source word
    for (const auto& [s, t] : alone.links) EXPECT_TRUE(s >= 0 && s < words && t >= 0 && t < target_words);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, MechanismLaws,
    testing::Values(Mechanism{"none", "rnn-none", {}},
                    Mechanism{"none_every_step",
                              "rnn-none",
                              {"attention.score=none-every-step", "decoder.readout=maxout", "decoder.first-state=bridge", "rnn.cell=gru",
                               "rnn.reset-after=false", "encoder.reversed=false"}},
                    Mechanism{"additive", "rnn-bahdanau", {}},
                    Mechanism{"additive_lstm", "rnn-bahdanau", {"rnn.cell=lstm", "decoder.layers=2"}},
                    Mechanism{"dot", "rnn-luong-dot", {}}, Mechanism{"general", "rnn-luong-general", {}},
                    Mechanism{"concat", "rnn-luong-concat", {}}, Mechanism{"location", "rnn-luong-location", {}},
                    Mechanism{"feeding", "rnn-luong-concat", {"decoder.input-feeding=true"}},
                    Mechanism{"feeding_local_m", "rnn-luong-general", {"decoder.input-feeding=true", "attention.window=local-m"}},
                    Mechanism{"local_m", "rnn-luong-dot", {"attention.window=local-m", "attention.half-width=2"}},
                    Mechanism{"local_p", "rnn-luong-general", {"attention.window=local-p", "attention.half-width=4"}},
                    Mechanism{"local_p_inside", "rnn-bahdanau", {"attention.window=local-p", "rnn.cell=tanh"}},
                    Mechanism{"scaled_dot", "rnn-luong-dot", {"attention.score=scaled-dot"}},
                    Mechanism{"multi_head", "rnn-luong-dot", {"attention.score=multi-head", "attention.heads=4"}},
                    Mechanism{"multi_head_inside", "rnn-bahdanau", {"attention.score=multi-head", "attention.heads=2"}},
                    Mechanism{"transformer", "transformer-tiny", {}},
                    Mechanism{"transformer_additive", "transformer-tiny", {"cross-attention.score=additive"}},
                    Mechanism{"transformer_general", "transformer-tiny", {"cross-attention.score=general"}},
                    Mechanism{"transformer_dot", "transformer-tiny", {"cross-attention.score=dot"}}),
    mechanism_name);

}  // namespace
}  // namespace jumok
