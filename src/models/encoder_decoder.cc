#include "models/encoder_decoder.h"

#include "models/language_model.h"
#include "models/seq2seq.h"
#include "models/transformer.h"

namespace jumok {

OutputLoss EncoderDecoder::loss(Context& context, const PairBatch& batch) const {
  const Variable h = hidden(context, batch);
  return output_loss(context, {h, output_weight(), {}, batch.target.labels, static_cast<float>(batch.smoothing)});
}

void EncoderDecoder::nll(Context& context, const PairBatch& batch, float* nll) const {
  const Variable h = hidden(context, batch);
  output_nll(context, {h, output_weight(), {}, batch.target.labels, 0, batch.forbidden}, nll);
}

std::unique_ptr<EncoderDecoder> make_model(const ModelConfig& config) {
  if (config.architecture == Architecture::kRnn) return std::make_unique<Seq2Seq>(config);
  if (config.architecture == Architecture::kLanguageModel) return std::make_unique<LanguageModel>(config);
  return std::make_unique<Transformer>(config);
}

}  // namespace jumok
