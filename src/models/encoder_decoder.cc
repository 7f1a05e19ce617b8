#include "models/encoder_decoder.h"

#include "models/language_model.h"
#include "models/seq2seq.h"
#include "models/transformer.h"

namespace jumok {

std::unique_ptr<EncoderDecoder> make_model(const ModelConfig& config) {
  if (config.architecture == Architecture::kRnn) return std::make_unique<Seq2Seq>(config);
  if (config.architecture == Architecture::kLanguageModel) return std::make_unique<LanguageModel>(config);
  return std::make_unique<Transformer>(config);
}

}  // namespace jumok
