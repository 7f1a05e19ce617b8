// The state of a search: rows are copied, dropped and reordered between steps, as a beam does, and each goes on as if its own history had
// been fed alone from the start, bit for bit.
#include <algorithm>
#include <memory>

#include "laws.h"

namespace jumok {
namespace {

struct Model {
  const char* name;
  const char* preset;
  std::vector<const char*> settings;
};
void PrintTo(const Model& m, std::ostream* out) { *out << m.name; }

constexpr int kSymbols = 11;

std::unique_ptr<EncoderDecoder> small_model(const Model& m) {
  ModelConfig c = model_preset(m.preset);
  c.width = 16;
  c.feed_forward_width = 24;
  c.max_positions = 32;
  c.rnn.half_width = 2;
  c.rnn.location_positions = 6;
  c.source_vocabulary = c.target_vocabulary = kSymbols;
  if (c.architecture == Architecture::kTransformer) c.encoder_layers = c.decoder_layers = c.heads = 2;
  Settings settings = model_settings(c);
  for (const char* s : m.settings) settings.set_assignment(s, "test");
  return make_model(c);
}

// The rows that go on from one step to the next: parents are rows of the step before, at the first one sentences. Rows of a sentence stay
// side by side.
const std::vector<std::vector<int32_t>> kBeam = {
    {0, 0, 1, 2},           // the first sentence is there twice
    {1, 1, 0, 2, 3, 3},     // copied and exchanged
    {2, 0, 0, 1, 3, 5, 4},  // each row to another place
    {6, 4, 4, 3, 3, 0, 1},  // the sentences change places too, and a row is dropped
    {1, 1, 0, 3, 3, 5, 5},  // half of the rows die, the others are there twice
    {4, 3, 1, 0},           // a sentence is over
    {3, 3, 2, 0, 0, 1},     // the rows of one sentence grow again
    {1, 1, 0, 5, 3, 3},     //
    {2},                    // one row is left
};
const Sentences kSources = {{3, 4, 5, 6, 7, 8, 9}, {10, 9, 8}, {5}};

// One row of a search: its sentence, and the symbols that led to it.
struct Path {
  int32_t sentence;
  std::vector<int32_t> symbols;
};

std::vector<float> logits_of_history(const EncoderDecoder& model, const std::vector<float>& block, const Path& path) {
  const PackedRows source = pack_source(Sentences{kSources[static_cast<size_t>(path.sentence)]});
  const auto alone = model.start(block.data(), source);
  const std::vector<int32_t> zero = {0};
  std::span<float> logits;
  for (const int32_t symbol : path.symbols) logits = alone->step(zero, std::vector<int32_t>{symbol});
  return {logits.begin(), logits.end()};
}

class BeamState : public testing::TestWithParam<Model> {};

TEST_P(BeamState, RowsCopiedAndReorderedGoOnAsIfTheirOwnHistoryHadBeenFedFromTheStart) {
  const auto model = small_model(GetParam());
  const std::vector<float> block = random_parameters(*model, 7);
  const PackedRows source = pack_source(kSources);
  const auto search = model->start(block.data(), source);
  Rng rng(3);
  std::vector<Path> paths;
  for (size_t t = 0; t < kBeam.size(); ++t) {
    std::vector<Path> next;
    std::vector<int32_t> symbols;
    for (const int32_t parent : kBeam[t]) {
      next.push_back(t == 0 ? Path{parent, {}} : paths.at(static_cast<size_t>(parent)));
      symbols.push_back(static_cast<int32_t>(3 + rng.below(kSymbols - 3)));  // the start symbol need not be the first here
      next.back().symbols.push_back(symbols.back());
    }
    paths = next;
    const std::span<float> together = search->step(kBeam[t], symbols);
    ASSERT_EQ(together.size(), paths.size() * kSymbols);
    for (size_t r = 0; r < paths.size(); ++r) {
      const std::vector<float> alone = logits_of_history(*model, block, paths[r]);
      EXPECT_TRUE(std::all_of(alone.begin(), alone.end(), [](float x) { return std::isfinite(x); }));
      EXPECT_EQ(0, std::memcmp(alone.data(), &together[r * kSymbols], kSymbols * sizeof(float))) << "step " << t << ", row " << r;
    }
  }
}

// Otherwise the law would hold of a model that forgets: rows of one sentence that differ in their first symbol alone differ in every later
// step.
TEST_P(BeamState, EverySymbolOfAHistoryCounts) {
  const auto model = small_model(GetParam());
  const std::vector<float> block = random_parameters(*model, 7);
  for (size_t at = 0; at < 5; ++at) {
    Path a{0, {3, 4, 5, 6, 7}}, b = a;
    b.symbols[at] = 9;
    EXPECT_NE(logits_of_history(*model, block, a), logits_of_history(*model, block, b)) << at;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, BeamState,
    testing::Values(
        Model{"none", "rnn-none", {}}, Model{"none_tanh", "rnn-none", {"rnn.cell=tanh"}}, Model{"none_gru", "rnn-none", {"rnn.cell=gru"}},
        Model{"none_every_step",
              "rnn-none",
              {"attention.score=none-every-step", "decoder.readout=maxout", "decoder.first-state=bridge", "rnn.cell=gru",
               "rnn.reset-after=false", "encoder.reversed=false"}},
        Model{"bahdanau", "rnn-bahdanau", {}}, Model{"bahdanau_lstm", "rnn-bahdanau", {"rnn.cell=lstm"}},
        Model{"bahdanau_tanh", "rnn-bahdanau", {"rnn.cell=tanh"}},
        Model{"three_layers", "rnn-bahdanau", {"rnn.cell=lstm", "encoder.layers=2", "decoder.layers=3"}}, Model{"dot", "rnn-luong-dot", {}},
        Model{"general", "rnn-luong-general", {}}, Model{"concat", "rnn-luong-concat", {}},
        Model{"feeding", "rnn-luong-general", {"decoder.input-feeding=true"}},
        Model{
            "feeding_gru_deep", "rnn-luong-concat", {"decoder.input-feeding=true", "rnn.cell=gru", "encoder.layers=2", "decoder.layers=2"}},
        Model{"feeding_local_m", "rnn-luong-dot", {"decoder.input-feeding=true", "attention.window=local-m"}},
        Model{"local_m", "rnn-luong-general", {"attention.window=local-m"}},
        Model{"local_m_inside", "rnn-bahdanau", {"attention.window=local-m"}},
        Model{"local_p", "rnn-luong-general", {"attention.window=local-p"}},
        Model{"local_p_inside_lstm", "rnn-bahdanau", {"attention.window=local-p", "rnn.cell=lstm"}},
        Model{"location", "rnn-luong-location", {}}, Model{"location_local_m", "rnn-luong-location", {"attention.window=local-m"}},
        Model{"scaled_dot", "rnn-luong-dot", {"attention.score=scaled-dot"}},
        Model{"multi_head", "rnn-luong-dot", {"attention.score=multi-head", "attention.heads=4"}},
        Model{"multi_head_inside_local_p", "rnn-bahdanau", {"attention.score=multi-head", "attention.heads=2", "attention.window=local-p"}},
        Model{"transformer", "transformer-tiny", {}}, Model{"transformer_additive", "transformer-tiny", {"cross-attention.score=additive"}},
        Model{"transformer_general", "transformer-tiny", {"cross-attention.score=general"}},
        Model{"transformer_dot", "transformer-tiny", {"cross-attention.score=dot"}},
        Model{"transformer_key_is_value", "transformer-tiny", {"cross-attention.score=general", "attention.sharing=key-is-value"}},
        Model{"transformer_post_learned", "transformer-tiny", {"model.norm=post", "positions.kind=learned"}}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace jumok
