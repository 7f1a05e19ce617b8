// What every model offers, RNN or Transformer: a loss to train, probabilities to score, steps to search. A language model is one whose
// sources are not read.
#pragma once

#include <memory>
#include <span>

#include "attention/multi_head.h"
#include "autograd/output_loss.h"
#include "data/packed.h"
#include "models/config.h"
#include "models/stepper.h"
#include "nn/parameters.h"

namespace jumok {

// One micro-batch of pairs. The packed rows and keys must outlive the tape.
struct PairBatch {
  const PackedRows& source;                            // Ns rows
  const PackedTarget& target;                          // Nt rows
  std::span<const uint32_t> source_keys, target_keys;  // dropout keys [Ns], [Nt]; empty in inference
  double dropout = 0;                                  // on embeddings and sublayer outputs
  double attention_dropout = 0;                        // on attention weights
  double smoothing = 0;                                // of the labels
  AttentionMaps* maps = nullptr;                       // wanted weights, or null
  // [Ns, width of h_j] where ∂loss/∂h_j goes once the tape has run back, h_j the encoder's outputs (of a recurrent encoder the states of
  // its last layer, with what reaches them through later ones); no data: not wanted.
  Tensor encoder_gradient;
  std::span<const int32_t> forbidden;  // of nll: symbols left out of the normalisation unless they are the label, as in a search
};

// A model is a structure: it says what is computed from a parameter block, and holds none. Const while running, shared by any number of
// threads.
class EncoderDecoder {
 public:
  virtual ~EncoderDecoder() = default;

  virtual const ModelConfig& config() const = 0;
  virtual const ParameterLayout& layout() const = 0;
  // Names of the attentions of target over source, first layer first; empty for a model without attention.
  virtual std::vector<std::string> source_attentions() const = 0;

  // Σ of the loss over the target rows (unsmoothed: Cho 2014, eq. 4; Luong 2015, eq. 4); with a tape the caller then runs
  // context.tape->backward().
  OutputLoss loss(Context& context, const PairBatch& batch) const;
  // -log p(y_t | y_<t, x) of each label, [Nt] (forced decoding). A sentence's sum is -log p(y | x): Sutskever 2014, eq. 1 (v is what
  // is left of x there); Cho 2014, eq. 3; Bahdanau 2015, eq. 2; Luong 2015, eq. 1.
  void nll(Context& context, const PairBatch& batch, float* nll) const;
  virtual const Parameter& output_weight() const = 0;  // [V, D]
  // Encodes the sources and stands ready for the first symbol. `parameters` must outlive the stepper.
  virtual std::unique_ptr<Stepper> start(const float* parameters, const PackedRows& source) const = 0;

 private:
  // What the output layer reads: [Nt, D].
  virtual Variable hidden(Context& context, const PairBatch& batch) const = 0;
};

std::unique_ptr<EncoderDecoder> make_model(const ModelConfig& config);

}  // namespace jumok
