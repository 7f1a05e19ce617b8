#include "lab/train_cost.h"

namespace jumok {
namespace {

// Rows of a packed batch of all sentences, and the pairs of positions that attend.
struct CorpusSums {
  double source = 0, target = 0;                           // N: symbols, end symbols included
  double source_pairs = 0, causal_pairs = 0, crossed = 0;  // Σ S², Σ T (T + 1) / 2, Σ T S
};

CorpusSums sums_of(const ParallelCorpus& corpus) {
  CorpusSums n;
  for (size_t i = 0; i < static_cast<size_t>(corpus.size()); ++i) {
    const double s = corpus.source_lengths()[i] + 1, t = corpus.target_lengths()[i] + 1;
    n.source += s;
    n.target += t;
    n.source_pairs += s * s;
    n.causal_pairs += t * (t + 1) / 2;
    n.crossed += t * s;
  }
  return n;
}

bool is_product(const ParameterLayout::Entry& e, const EncoderDecoder& model) {
  const bool output_is_target_embedding = model.config().tying != Tying::kNone;
  const bool lookup = e.name == "encoder.embedding.weight" || (e.name == "decoder.embedding.weight" && !output_is_target_embedding) ||
                      e.name.find("positions") != std::string::npos;
  return !e.is_vector && !lookup;
}

// The encoder's, and those that project what it gives for the decoder's attention.
bool multiplies_source(const std::string& name) {
  const bool memory = name.find("cross_attention.key") != std::string::npos || name.find("cross_attention.value") != std::string::npos ||
                      name.starts_with("decoder.attention.key") || name.starts_with("decoder.attention.value");
  return name.starts_with("encoder.") || memory;
}

// q·k and the mix forward: 4 d a pair and head. Backward q·k again, dp = do·v, dv, dq, dk: 10 d. An exponential each way.
PartWork attention_work(const ModelConfig& config, const CorpusSums& n) {
  const bool reads_source = config.architecture == Architecture::kTransformer;
  if (config.architecture == Architecture::kRnn || (reads_source && config.head_options.score != Score::kScaledDot)) return {};
  const double encoder = reads_source ? config.encoder_layers * n.source_pairs : 0;
  const double decoder = config.decoder_layers * (n.causal_pairs + (reads_source ? n.crossed : 0));
  return {14 * config.width * (encoder + decoder), 2 * config.heads * (encoder + decoder), 0};
}

}  // namespace

int64_t count_product_weights(const EncoderDecoder& model) {
  int64_t n = 0;
  for (const auto& e : model.layout().entries()) n += is_product(e, model) ? e.parameter.rows * e.parameter.columns : 0;
  return n;
}

UpdateWork work_of_update(const EncoderDecoder& model, const ParallelCorpus& corpus, int lanes) {
  const CorpusSums n = sums_of(corpus);
  UpdateWork work;
  const auto part = [&](Part p) -> PartWork& { return work.parts[static_cast<size_t>(p)]; };

  // y = x Wᵀ forward, dx = dy W and dW += dyᵀ x backward: 6 FLOP a weight and symbol.
  const Parameter output = model.output_weight();
  const auto output_weights = static_cast<double>(output.rows * output.columns);
  part(Part::kOutputLoss).flop = 6 * n.target * output_weights;
  part(Part::kOutputLoss).exps = n.target * static_cast<double>(output.rows);
  part(Part::kAttention) = attention_work(model.config(), n);

  for (const auto& e : model.layout().entries()) {
    const double rows = multiplies_source(e.name) ? n.source : n.target;
    if (is_product(e, model)) part(Part::kProducts).flop += 6 * rows * static_cast<double>(e.parameter.rows * e.parameter.columns);
    // Forward x, f → s, y; backward dy, ds, s → dx, df.
    if (e.name.ends_with("norm.weight")) part(Part::kNorm).floats += 9 * rows * static_cast<double>(e.parameter.columns);
    // In place forward; backward y, dy → dy.
    if (e.name.ends_with("feed_forward.inner.weight")) part(Part::kActivation).floats += 5 * rows * static_cast<double>(e.parameter.rows);
  }
  part(Part::kProducts).flop -= part(Part::kOutputLoss).flop;
  // A table's row → y; dy and the table's gradient → that gradient.
  const double looked_up = model.config().architecture == Architecture::kLanguageModel ? n.target : n.source + n.target;
  part(Part::kEmbedding).floats = 5 * looked_up * model.config().width;
  // lanes → sum; p, m, v, sum → p, m, v.
  work.optimiser.floats = (lanes + 8) * static_cast<double>(model.layout().size());
  return work;
}

}  // namespace jumok
