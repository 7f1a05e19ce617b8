// ∂loss/∂h_j, the gradient of the encoder's outputs, by what calculus says of the parameters in front of them.
#include "laws.h"
#include "models/seq2seq.h"
#include "models/transformer.h"

namespace jumok {
namespace {

struct OneRun {
  Packed packed{random_pairs(5, 7, 11, 3)};
  std::vector<float> parameters, gradients, encoder;  // encoder [Ns, width]

  OneRun(const EncoderDecoder& model, int64_t width) : parameters(random_parameters(model, 5)), gradients(parameters.size()) {
    encoder.assign(static_cast<size_t>(packed.source.rows() * width), std::nanf(""));
    Arena arena;
    Tape tape;
    Context context{arena, parameters.data(), &tape, gradients.data()};
    PairBatch batch = packed.batch();
    batch.encoder_gradient = {encoder.data(), packed.source.rows(), width, width};
    model.loss(context, batch);
    tape.backward();
  }
  const float* gradient(const EncoderDecoder& model, const std::string& name) const {
    for (const auto& e : model.layout().entries()) {
      if (e.name == name) return gradients.data() + e.parameter.offset;
    }
    ADD_FAILURE() << name;
    return gradients.data();
  }
};

// The last thing an encoder of pre-norm layers does is to add the norm's bias: ∂loss/∂b = Σ_j ∂loss/∂h_j.
TEST(EncoderGradient, OfATransformerSumsToThatOfTheLastBias) {
  ModelConfig c = model_preset("transformer-tiny");
  c.width = 16;
  c.source_vocabulary = c.target_vocabulary = 11;
  const Transformer model(c);
  const OneRun run(model, 16);
  const float* bias = run.gradient(model, "encoder.norm.bias");
  for (size_t d = 0; d < 16; ++d) {
    double sum = 0;
    for (size_t i = d; i < run.encoder.size(); i += 16) sum += run.encoder[i];
    EXPECT_NEAR(sum, bias[d], 1e-4) << d;
    EXPECT_GT(std::abs(bias[d]), 1e-3);
  }
}

struct Variant {
  const char* name;
  const char* preset;
  std::vector<const char*> settings;
};
void PrintTo(const Variant& v, std::ostream* out) { *out << v.name; }

class RecurrentEncoder : public testing::TestWithParam<Variant> {};

// Of a layer h_j = tanh(W x_j + b + U h_{j-1}): ∂loss/∂b = Σ_j (1 - h_j²) ∂loss/∂h_j, in which ∂loss/∂h_j must count what goes through
// h_{j+1}.
TEST_P(RecurrentEncoder, ItsGradientGivesThatOfTheBias) {
  ModelConfig c = model_preset(GetParam().preset);
  c.width = 16;
  c.rnn.encoder_width = 20;
  c.source_vocabulary = c.target_vocabulary = 11;
  Settings settings = model_settings(c);
  settings.set_assignment("rnn.cell=tanh", "test");
  for (const char* s : GetParam().settings) settings.set_assignment(s, "test");
  const Seq2Seq model(c);
  const OneRun run(model, 20);

  Arena arena;
  Context context{arena, run.parameters.data()};
  const Tensor h = model.encode(context, run.packed.source, {}).states.value;
  const int directions = c.rnn.bidirectional ? 2 : 1, width = 20 / directions;
  for (int d = 0; d < 20; ++d) {
    double sum = 0;
    for (int64_t j = 0; j < h.rows; ++j) sum += (1 - double{h.row(j)[d]} * h.row(j)[d]) * run.encoder[static_cast<size_t>(j * 20 + d)];
    const char* const name = d < width ? "encoder.layers.0.forward.input.h.bias" : "encoder.layers.0.backward.input.h.bias";
    EXPECT_NEAR(sum, run.gradient(model, name)[d % width], 1e-5) << d;
    EXPECT_GT(std::abs(sum), 1e-4) << d;
  }
}

INSTANTIATE_TEST_SUITE_P(All, RecurrentEncoder,
                         testing::Values(Variant{"none", "rnn-none", {"decoder.first-state=bridge"}},
                                         Variant{"none_forward", "rnn-none", {"decoder.first-state=bridge", "encoder.reversed=false"}},
                                         Variant{"bahdanau", "rnn-bahdanau", {}},
                                         Variant{
                                             "feeding", "rnn-luong-general", {"decoder.input-feeding=true", "decoder.first-state=bridge"}}),
                         [](const auto& info) { return info.param.name; });

TEST(EncoderGradient, APlaceOfAnotherShapeIsRefused) {
  ModelConfig c = model_preset("rnn-none");
  c.width = 16;
  c.source_vocabulary = c.target_vocabulary = 11;
  const Seq2Seq model(c);
  EXPECT_THROW(OneRun(model, 17), std::exception);
  c = model_preset("transformer-tiny");
  c.width = 16;
  c.source_vocabulary = c.target_vocabulary = 11;
  EXPECT_THROW(OneRun(Transformer(c), 12), std::exception);
}

}  // namespace
}  // namespace jumok
