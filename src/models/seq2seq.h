// The recurrent encoder-decoder, with no attention (Sutskever 2014; Cho 2014), Bahdanau's (2015), Luong's (2015) or the Transformer's.
#pragma once

#include "models/embeddings.h"
#include "models/encoder_decoder.h"
#include "models/rnn_decoder.h"
#include "models/rnn_encoder.h"

namespace jumok {

class Seq2Seq : public EncoderDecoder {
 public:
  explicit Seq2Seq(const ModelConfig& config);

  const ModelConfig& config() const override { return config_; }
  const ParameterLayout& layout() const override { return layout_; }
  std::vector<std::string> source_attentions() const override;
  std::unique_ptr<Stepper> start(const float* parameters, const PackedRows& source) const override;

  // The parts that the stepper shares.
  // state_gradient as in RnnSource.
  RnnEncoded encode(Context& context, const PackedRows& source, const RowDropout& dropout, const Tensor& state_gradient = {}) const;
  Variable embed_target(Context& context, const PackedRows& target, const RowDropout& dropout) const;
  const RnnDecoder& decoder() const { return decoder_; }
  const Parameter& output_weight() const override { return embeddings_.output; }

 private:
  Variable hidden(Context& context, const PairBatch& batch) const override;

  ModelConfig config_;
  ParameterLayout layout_;
  Embeddings embeddings_;
  RnnEncoder encoder_;
  RnnDecoder decoder_;
};

}  // namespace jumok
