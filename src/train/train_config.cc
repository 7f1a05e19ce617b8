#include "train/train_config.h"

#include <algorithm>
#include <cmath>

namespace jumok {

TrainConfig training_preset(Architecture architecture) {
  TrainConfig c;
  if (architecture == Architecture::kLanguageModel) {
    c.label_smoothing = 0;
    c.metric = Metric::kLoss;
  }
  if (architecture != Architecture::kRnn) return c;
  c.rate = 0.002;
  c.warm_up = 1000;
  c.dropout = 0.2;
  return c;
}

Settings train_settings(TrainConfig& c, Architecture architecture) {
  std::vector<std::pair<std::string, Metric>> metrics = {{"loss", Metric::kLoss}};
  if (architecture != Architecture::kLanguageModel) metrics.insert(metrics.end(), {{"bleu", Metric::kBleu}, {"chrf", Metric::kChrf}});
  Settings s;
  s.real("train.rate", c.rate, 0, 10, "peak learning rate; 0 takes the paper's 1 / sqrt(width · warm-up)");
  s.integer("train.warm-up", c.warm_up, 1, 1000000, "updates until the learning rate peaks");
  s.real("adam.beta1", c.beta1, 0, 0.9999, "Adam's decay of the mean gradient");
  s.real("adam.beta2", c.beta2, 0, 0.999999, "Adam's decay of the mean squared gradient");
  s.real("adam.epsilon", c.epsilon, 1e-20, 1, "Adam's smallest denominator");
  s.real("train.clip", c.clip, 0, 1e9, "largest norm of the gradient per token; 0 does not clip");
  s.real("train.label-smoothing", c.label_smoothing, 0, 0.9, "share of the target's probability spread over the vocabulary");
  s.real("train.dropout", c.dropout, 0, 0.9, "dropout rate of embeddings and sublayer outputs");
  s.real("train.attention-dropout", c.attention_dropout, 0, 0.9, "dropout rate of attention weights");
  s.integer("train.batch-tokens", c.batch_tokens, 1, 10000000, "target symbols of an update");
  s.integer("train.lanes", c.lanes, 1, 1024, "parts an update is dealt to; threads up to this number help, and results depend on it");
  s.integer("train.micro-batch-rows", c.micro_batch_rows, 16, 1000000, "most rows of either side a lane computes at once");
  s.integer("train.max-length", c.max_length, 1, 65535,
            "longest side of a training pair, in subword symbols; longer pairs are left out, longer texts cut in pieces");
  s.integer("validate.every", c.validate_every, 1, 1000000000, "updates between validations");
  s.choice<Metric>("validate.metric", c.metric, metrics, "what the kept model is chosen by");
  s.integer("average.every", c.snapshot_every, 1, 1000000000, "updates between the parameter sets that are averaged");
  s.integer("average.last", c.average, 1, 100, "how many of the last parameter sets are averaged");
  s.integer("train.patience", c.patience, 0, 1000000, "validations without a better score until training stops; 0 never stops");
  return s;
}

double learning_rate(double peak, int warm_up, int64_t update) {
  const double t = static_cast<double>(update), w = warm_up;
  return peak * std::min(t / w, std::sqrt(w / t));
}

double peak_rate(const TrainConfig& config, int width) {
  return config.rate > 0 ? config.rate : 1 / std::sqrt(static_cast<double>(width) * config.warm_up);
}

}  // namespace jumok
