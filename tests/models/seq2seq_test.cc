// The laws of the recurrent encoder-decoder, for every mechanism.
#include "models/seq2seq.h"

#include "base/error.h"
#include "laws.h"

namespace jumok {
namespace {

struct Variant {
  const char* name;
  const char* preset;
  std::vector<const char*> settings;
};
// So that a failure says which one.
void PrintTo(const Variant& v, std::ostream* out) { *out << v.name; }

ModelConfig small_config(const Variant& v) {
  ModelConfig c = model_preset(v.preset);
  c.width = 16;
  c.rnn.encoder_width = c.rnn.wide ? 20 : 0;
  c.rnn.half_width = 2;
  c.rnn.location_positions = 6;
  c.source_vocabulary = c.target_vocabulary = 11;
  Settings settings = model_settings(c);
  for (const char* s : v.settings) settings.set_assignment(s, "test");
  return c;
}

class Mechanisms : public testing::TestWithParam<Variant> {
 protected:
  Seq2Seq model() const { return Seq2Seq(small_config(GetParam())); }
};

TEST_P(Mechanisms, EveryParametersGradientAgreesWithFiniteDifferencesWithDropoutOn) {
  expect_gradients(model(), Packed(random_pairs(4, 6, 11, 3)), 3e-2);
}

TEST_P(Mechanisms, GradientsAddOverMicroBatches) { expect_gradients_add(model(), random_pairs(5, 6, 11, 4)); }

TEST_P(Mechanisms, StepsEqualTheWholeTarget) { expect_steps_equal_whole_target(model(), random_pairs(6, 9, 11, 6)); }

TEST_P(Mechanisms, ASentencesBitsDoNotDependOnItsBatchNorOnBeingSortedByLength) {
  expect_bits_do_not_depend_on_batch(model(), random_pairs(9, 12, 11, 8));
}

TEST_P(Mechanisms, ReturnedWeightsAreThoseOfTheirMechanism) {
  const Seq2Seq m = model();
  const Packed packed(random_pairs(3, 7, 11, 8));
  const std::vector<float> block = random_parameters(m, 9);
  Arena arena;
  Context context{arena, block.data()};
  AttentionMaps maps;
  PairBatch batch = packed.batch();
  batch.maps = &maps;
  std::vector<float> nll(packed.target.labels.size());
  m.nll(context, batch, nll.data());
  ASSERT_EQ(maps.maps.size(), m.source_attentions().size());
  if (maps.maps.empty()) return;
  EXPECT_EQ(maps.maps.front().name, m.source_attentions().front());
  const RnnConfig& r = m.config().rnn;
  const int heads = maps.maps.front().heads;
  ASSERT_EQ(maps.maps.front().weights.size(), 3u * heads);
  for (size_t i = 0; i < 3u * heads; ++i) {
    const int rows = packed.target.input.length[i / heads], columns = packed.source.length[i / heads];
    const std::vector<float>& w = maps.maps.front().weights[i];
    ASSERT_EQ(w.size(), size_t(rows) * columns);
    for (int t = 0; t < rows; ++t) {
      double sum = 0;
      for (int s = 0; s < columns; ++s) {
        sum += w[t * columns + s];
        const int centre = std::min(t, columns - 1);
        if (r.window == Window::kLocalM && std::abs(s - centre) > r.half_width) {
          EXPECT_EQ(w[t * columns + s], 0.0f);
        }
        if (r.score == Score::kLocation && s >= r.location_positions) {
          EXPECT_EQ(w[t * columns + s], 0.0f);
        }
      }
      if (r.window == Window::kLocalP) {
        EXPECT_LE(sum, 1 + 1e-6);
        EXPECT_GT(sum, 0);
      } else {
        EXPECT_NEAR(sum, 1, 1e-6);
      }
    }
  }
}

TEST_P(Mechanisms, QueriesKeysAndValuesExplainWeightsAndMix) { expect_parts_explain_weights(model(), Packed(random_pairs(3, 7, 11, 8))); }

INSTANTIATE_TEST_SUITE_P(
    All, Mechanisms,
    testing::Values(
        Variant{"sutskever", "rnn-none", {}},
        Variant{"sutskever_deep_tanh", "rnn-none", {"encoder.layers=2", "decoder.layers=2", "rnn.cell=tanh"}},
        Variant{"cho",
                "rnn-none",
                {"attention.score=none-every-step", "decoder.readout=maxout", "decoder.first-state=bridge", "rnn.cell=gru",
                 "rnn.reset-after=false", "encoder.reversed=false"}},
        Variant{"bahdanau", "rnn-bahdanau", {}}, Variant{"bahdanau_of_the_paper", "rnn-bahdanau", {"rnn.reset-after=false"}},
        Variant{"bahdanau_deep_lstm",
                "rnn-bahdanau",
                {"encoder.layers=2", "decoder.layers=2", "rnn.cell=lstm", "attention.width=12", "decoder.readout=linear"}},
        Variant{"dot", "rnn-luong-dot", {}}, Variant{"general", "rnn-luong-general", {}},
        Variant{"general_feeding_deep", "rnn-luong-general", {"decoder.input-feeding=true", "encoder.layers=2", "decoder.layers=2"}},
        Variant{"concat", "rnn-luong-concat", {}}, Variant{"location", "rnn-luong-location", {}},
        Variant{"location_inside", "rnn-luong-location", {"attention.place=inside", "decoder.readout=plain"}},
        Variant{"local_m_dot", "rnn-luong-dot", {"attention.window=local-m"}},
        Variant{"local_p_general", "rnn-luong-general", {"attention.window=local-p", "encoder.bidirectional=false"}},
        Variant{"local_p_concat_feeding", "rnn-luong-concat", {"attention.window=local-p", "decoder.input-feeding=true"}},
        Variant{"local_p_inside", "rnn-bahdanau", {"attention.window=local-p"}},
        Variant{"scaled_dot", "rnn-luong-dot", {"attention.score=scaled-dot", "encoder.width=20", "decoder.first-state=bridge"}},
        Variant{"multi_head_inside", "rnn-bahdanau", {"attention.score=multi-head", "attention.heads=4"}},
        Variant{"multi_head_local_m_after",
                "rnn-luong-dot",
                {"attention.score=multi-head", "attention.heads=2", "attention.window=local-m", "embedding.tying=none"}}),
    [](const auto& info) { return info.param.name; });

std::vector<float> nll_of(const ModelConfig& config, const Pairs& pairs, const std::vector<float>* parameters = nullptr) {
  const Seq2Seq model(config);
  const std::vector<float> block = parameters != nullptr ? *parameters : random_parameters(model, 3);
  const Packed packed(pairs);
  Arena arena;
  Context context{arena, block.data()};
  std::vector<float> nll(packed.target.labels.size());
  model.nll(context, packed.batch(), nll.data());
  return nll;
}

TEST(Seq2Seq, LocalMWithAWindowLargerThanTheSentenceIsGlobal) {
  const Pairs pairs = random_pairs(5, 8, 11, 2);
  ModelConfig c = small_config({"", "rnn-luong-general", {}});
  const std::vector<float> global = nll_of(c, pairs);
  c.rnn.window = Window::kLocalM;
  c.rnn.half_width = 9;
  EXPECT_EQ(global, nll_of(c, pairs));
}

TEST(Seq2Seq, OneHeadOfMultiHeadWithoutAnOutputProjectionIsScaledDot) {
  ModelConfig one = small_config({"", "rnn-luong-dot", {"attention.score=scaled-dot"}});
  ModelConfig multi = one;
  multi.rnn.score = Score::kMultiHead;
  const Seq2Seq scaled_model(one), multi_model(multi);
  const std::vector<float> scaled = random_parameters(scaled_model, 3);
  std::vector<float> block(multi_model.layout().size());
  for (const auto& e : multi_model.layout().entries()) {
    if (e.name == "decoder.attention.output.weight") {
      for (int64_t r = 0; r < e.parameter.rows; ++r) block[e.parameter.offset + r * e.parameter.stride + r] = 1;
      continue;
    }
    for (const auto& from : scaled_model.layout().entries()) {
      if (from.name == e.name) {
        std::copy_n(&scaled[from.parameter.offset], e.parameter.rows * e.parameter.stride, &block[e.parameter.offset]);
      }
    }
  }
  const Pairs pairs = random_pairs(4, 7, 11, 2);
  EXPECT_EQ(nll_of(one, pairs, &scaled), nll_of(multi, pairs, &block));
}

TEST(Seq2Seq, TheBackwardDirectionStartsAtASentencesOwnLastSymbol) {
  const ModelConfig c = small_config({"", "rnn-bahdanau", {}});
  const std::vector<float> alone = nll_of(c, {{{4, 5}}, {{6}}});
  const std::vector<float> beside = nll_of(c, {{{4, 5}, {3, 4, 5, 6, 7, 8, 9}}, {{6}, {7}}});
  EXPECT_EQ(alone, std::vector<float>(beside.begin(), beside.begin() + 2));
}

TEST(Seq2Seq, AnEmptySourceAndALongOneAreBothFine) {
  for (const char* preset : {"rnn-none", "rnn-bahdanau", "rnn-luong-location", "rnn-luong-general"}) {
    const ModelConfig c = small_config({"", preset, {}});
    const std::vector<int32_t> longest(2000, 5);
    for (const float n : nll_of(c, {{{}, longest}, {{}, {4, 5}}})) EXPECT_TRUE(std::isfinite(n)) << preset;
  }
}

TEST(Seq2Seq, ACombinationThatCannotWorkIsAnsweredWithTheNearestThatDoes) {
  const auto message = [](const char* preset, std::vector<const char*> settings) -> std::string {
    try {
      small_config({"", preset, settings}).validate();
    } catch (const Error& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_NE(message("rnn-bahdanau", {"attention.score=dot"}).find("attention.score=general"), std::string::npos);
  EXPECT_NE(message("rnn-bahdanau", {"decoder.input-feeding=true"}).find("attention.place=after"), std::string::npos);
  EXPECT_NE(message("rnn-none", {"attention.window=local-m"}).find("attention.window=global"), std::string::npos);
  EXPECT_NE(message("rnn-luong-dot", {"decoder.readout=plain"}).find("decoder.readout=tanh"), std::string::npos);
  EXPECT_NE(message("rnn-luong-dot", {"decoder.layers=2"}).find("decoder.first-state=bridge"), std::string::npos);
  EXPECT_NE(message("rnn-luong-dot", {"attention.heads=2"}).find("multi-head"), std::string::npos);
  EXPECT_NE(message("rnn-bahdanau", {"encoder.reversed=true"}).find("encoder.bidirectional=false"), std::string::npos);
  EXPECT_EQ(message("rnn-bahdanau", {}), "accepted");
}

}  // namespace
}  // namespace jumok
