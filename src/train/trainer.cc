#include "train/trainer.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "train/replaced_model.h"

namespace jumok {
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
namespace {

constexpr int kReportEvery = 20;  // updates between two lines of training.jsonl, after that of the first
constexpr int kMostSkipped = 50;  // updates without a finite gradient, one after the other

fs::path checkpoint_path(const fs::path& folder) { return folder / "state.safetensors"; }

}  // namespace

Trainer::Trainer(const TrainerInput& input)
    : in_(input),
      checkpoint_folder_(input.options.model / "checkpoint"),
      lanes_(input.model, input.corpus, input.config, input.options.seed, input.workers),
      peak_(peak_rate(input.config, input.model.config().width)) {
  make_folder(checkpoint_folder_);
  remove_leftovers(checkpoint_folder_);
  remove_leftovers(in_.options.model);
  if (in_.options.resume) {
    resume();
  } else {
    start_fresh();
  }
  events_.emplace(in_.options.model / "training.jsonl", in_.options.log_json, state_.updates, in_.options.resume);
}

void Trainer::start_fresh() {
  const int64_t n = in_.model.layout().size();
  state_.parameters.resize(n);
  state_.m.resize(n);
  state_.v.resize(n);
  in_.model.layout().initialise(state_.parameters.data(), in_.options.seed);
  at_.corpus = in_.corpus.fingerprint();
  if (in_.validation != nullptr) at_.validation = in_.validation->corpus.fingerprint();
  snapshots_.emplace(checkpoint_folder_, in_.model.layout(), in_.config.average);
}

void Trainer::resume() {
  const fs::path path = checkpoint_path(checkpoint_folder_);
  std::error_code ignored;
  check(fs::exists(path, ignored),
        "{}: the run has no checkpoint to go on from (it ended before its first, or the folder was removed); start it again without "
        "--resume, over a finished model with --overwrite",
        path.string());
  load_checkpoint(path, in_.model.layout(), state_, at_);
  check(at_.corpus == in_.corpus.fingerprint(),
        "{}: the training data is not what this run began with; train a new model, or bring the old files back",
        in_.options.model.string());
  check(at_.validation == 0 || in_.validation == nullptr || at_.validation == in_.validation->corpus.fingerprint(),
        "{}: the validation data is not what this run began with: scores before and after could not be compared",
        in_.options.model.string());
  seconds_before_ = at_.seconds;
  snapshots_.emplace(checkpoint_folder_, in_.model.layout(), in_.config.average, at_.snapshots);
}

TrainResult Trainer::run() {
  began_ = std::chrono::steady_clock::now();
  check_limits();
  while (!end_) one_epoch();
  finish();
  if (thrown_) std::rethrow_exception(thrown_);
  TrainResult result;
  result.end = *end_;
  result.updates = state_.updates;
  result.tokens = at_.tokens;
  result.seconds = seconds();
  result.parameters = in_.model.layout().count();
  result.best_update = at_.best_update;
  result.best_score = at_.best_score;
  return result;
}

void Trainer::one_epoch() {
  BatchOptions options;
  options.batch_tokens = in_.config.batch_tokens;
  const auto batches = plan_epoch(in_.corpus.source_lengths(), in_.corpus.target_lengths(), options, in_.options.seed, at_.epoch);
  batches_in_epoch_ = batches.size();
  while (at_.batch < static_cast<int64_t>(batches.size()) && !end_) one_update(batches[at_.batch]);
  if (at_.batch < static_cast<int64_t>(batches.size())) return;
  ++at_.epoch;
  at_.batch = 0;
  if (!end_) check_limits();
}

void Trainer::one_update(std::span<const int32_t> batch) {
  const auto start = std::chrono::steady_clock::now();
  // The dropout keys follow the batch, not the count of updates: a skipped update does not repeat the masks.
  const uint64_t key = hash_words(static_cast<uint64_t>(at_.epoch), static_cast<uint64_t>(at_.batch));
  const OutputLoss loss = lanes_.gradients(state_.parameters.data(), batch, key);
  const UpdateResult result = update_parameters(state_, {lanes_.blocks(), loss.tokens}, {in_.config, peak_}, in_.workers);
  ++at_.batch;
  at_.tokens += loss.tokens;
  window_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (result.skipped) {
    ++skipped_in_a_row_;
    check(skipped_in_a_row_ < kMostSkipped,
          "the gradient was not finite in {} updates in a row: lower train.rate or lengthen train.warm-up", skipped_in_a_row_);
    check_limits();
    return;
  }
  skipped_in_a_row_ = 0;
  report(loss, result);
  after_update();
}

void Trainer::report(const OutputLoss& loss, const UpdateResult& result) {
  window_.nll += loss.nll;
  window_.tokens += loss.tokens;
  last_loss_ = window_.nll / static_cast<double>(window_.tokens);
  last_speed_ = static_cast<double>(window_.tokens) / window_.seconds;
  if (state_.updates == 1 || state_.updates % kReportEvery == 0) {
    events_->write({{"event", "train"},
                    {"update", state_.updates},
                    {"epoch", at_.epoch},
                    {"seconds", seconds()},
                    {"loss", last_loss_},
                    {"tokens", at_.tokens},
                    {"tokens_per_second", last_speed_},
                    {"rate", result.rate},
                    {"gradient_norm", result.gradient_norm}});
    window_ = {};
  }
  tell(progress());
}

// What the caller throws ends the run as `stop` does, its state saved, and is thrown again at the end.
void Trainer::tell(TrainProgress p) {
  if (!in_.options.progress || thrown_) return;
  p.fraction = fraction();
  try {
    in_.options.progress(p);
  } catch (...) {
    thrown_ = std::current_exception();
  }
}

void Trainer::after_update() {
  const bool snapshot = state_.updates % in_.config.snapshot_every == 0;
  const bool validation = in_.validation != nullptr && state_.updates % in_.config.validate_every == 0;
  if (snapshot) snapshots_->add(state_.updates, state_.parameters.data());
  if (validation) validate_now();
  check_limits();
  if ((snapshot || validation) && !end_) save();  // finish() saves at the end
}

void Trainer::validate_now() {
  at_.validated_update = state_.updates;
  const std::vector<float> mean = snapshots_->mean();
  const auto loss = [&](const std::vector<float>& p) { return validation_loss(in_.model, p.data(), in_.validation->corpus, in_.workers); };
  const double last_loss = loss(state_.parameters);
  const double mean_loss = mean.empty() ? last_loss : loss(mean);
  const bool mean_wins = mean_loss < last_loss;
  const std::vector<float>& candidate = mean_wins ? mean : state_.parameters;
  ValidationScores scores = score_translations(in_.model, candidate.data(), *in_.validation, *in_.subwords.target, in_.workers);
  scores.loss = mean_wins ? mean_loss : last_loss;
  double value = 0;
  const bool best = is_better(scores, value);
  if (best) {
    at_.best_score = value;
    at_.best_update = state_.updates;
    at_.validations_without_best = 0;
    keep_model(candidate);
    forget_replaced_model(in_.options.model);
  } else {
    ++at_.validations_without_best;
  }
  Json event = {{"event", "valid"}, {"update", state_.updates}, {"epoch", at_.epoch}, {"seconds", seconds()}};
  event.update({{"loss", scores.loss}, {"perplexity", std::exp(scores.loss)}});
  if (!in_.validation->references.empty()) event.update({{"bleu", scores.bleu}, {"chrf", scores.chrf}});
  event["best"] = best;
  events_->write(event);
  TrainProgress p = progress();
  p.validated = true;
  p.valid_loss = scores.loss;
  p.bleu = scores.bleu;
  p.chrf = scores.chrf;
  p.is_best = best;
  tell(p);
}

bool Trainer::is_better(const ValidationScores& scores, double& value) const {
  switch (in_.config.metric) {
    case Metric::kLoss:
      value = scores.loss;
      break;
    case Metric::kBleu:
      value = scores.bleu;
      break;
    case Metric::kChrf:
      value = scores.chrf;
      break;
  }
  if (!std::isfinite(value)) return false;  // it would stay the best for ever: nothing compares better than NaN
  if (at_.best_update < 0) return true;
  return in_.config.metric == Metric::kLoss ? value < at_.best_score : value > at_.best_score;
}

void Trainer::keep_model(const std::vector<float>& parameters) {
  write_parameters(in_.options.model / "model.safetensors", in_.model.layout(), parameters.data(),
                   {{"format", "jumok"}, {"update", std::to_string(state_.updates)}});
}

void Trainer::save() {
  at_.seconds = seconds();
  at_.snapshots = snapshots_->updates();
  save_checkpoint(checkpoint_path(checkpoint_folder_), in_.model.layout(), state_, at_);
  snapshots_->prune();
}

void Trainer::finish() {
  const bool stopped = *end_ == TrainEnd::kStopped;  // a run that will go on: no validation that an unbroken run would not have made
  if (in_.validation != nullptr && !stopped && at_.validated_update != state_.updates) validate_now();
  if (in_.validation == nullptr || at_.best_update < 0) {
    const std::vector<float> mean = stopped ? std::vector<float>() : snapshots_->mean();
    keep_model(mean.empty() ? state_.parameters : mean);
    if (!stopped) forget_replaced_model(in_.options.model);
  }
  save();
}

void Trainer::check_limits() {
  const TrainOptions& o = in_.options;
  if (o.max_updates > 0 && state_.updates >= o.max_updates)
    end_ = TrainEnd::kUpdates;
  else if (o.max_epochs > 0 && at_.epoch >= o.max_epochs)
    end_ = TrainEnd::kEpochs;
  else if (o.max_seconds > 0 && seconds() >= o.max_seconds)
    end_ = TrainEnd::kTime;
  else if (in_.config.patience > 0 && at_.validations_without_best >= in_.config.patience)
    end_ = TrainEnd::kPatience;
  else if (thrown_ || (o.stop != nullptr && o.stop->load()))
    end_ = TrainEnd::kStopped;  // last: a run that has just finished is not one to be gone on with
}

double Trainer::seconds() const {
  return seconds_before_ + std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
}

double Trainer::fraction() const {
  const TrainOptions& o = in_.options;
  double f = 0;
  if (o.max_updates > 0) f = std::max(f, static_cast<double>(state_.updates) / static_cast<double>(o.max_updates));
  if (o.max_epochs > 0) f = std::max(f, progress().epoch / static_cast<double>(o.max_epochs));
  if (o.max_seconds > 0) f = std::max(f, seconds() / o.max_seconds);
  return std::min(f, 1.0);
}

TrainProgress Trainer::progress() const {
  TrainProgress p;
  p.update = state_.updates;
  p.epoch = static_cast<double>(at_.epoch) +
            (batches_in_epoch_ > 0 ? static_cast<double>(at_.batch) / static_cast<double>(batches_in_epoch_) : 0);
  p.loss = last_loss_;
  p.tokens_per_second = last_speed_;
  p.seconds = seconds();
  return p;
}

}  // namespace jumok
