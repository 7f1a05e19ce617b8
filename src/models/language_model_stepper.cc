// One position at a time: the language model with a key/value cache.
#include "models/language_model.h"
#include "models/live_rows.h"

namespace jumok {
namespace {

class LanguageModelStepper : public Stepper {
 public:
  LanguageModelStepper(const LanguageModel& model, const float* parameters, const PackedRows& source)
      : model_(model), parameters_(parameters), lengths_(source.length), cache_(model.config().decoder_layers, model.config().width) {}

  int vocabulary() const override { return model_.config().target_vocabulary; }
  int sentences() const override { return static_cast<int>(lengths_.size()); }
  int longest_target() const override { return model_.config().max_positions; }
  int source_length(int sentence) const override { return lengths_[sentence]; }

  // A row's state is its slot of the cache alone, so nothing needs to know which text it belongs to.
  std::span<float> step(std::span<const int32_t> parents, std::span<const int32_t> symbols) override {
    arena_.reset();
    cache_.follow(parents, position_);
    Context context{arena_, parameters_};
    const PackedRows rows = one_row_each(symbols, position_);
    const TransformerStack& stack = model_.decoder();
    Stream x = stack.begin(context, model_.symbols()(context, {rows, {}, {}}));
    for (size_t l = 0; l < stack.layers.size(); ++l) {
      x = stack.self_attention_step(context, l, x, rows, cache_);
      x = stack.feed_forward(context, l, x, {});
    }
    const std::span<float> logits = arena_.allocate<float>(static_cast<int64_t>(symbols.size()) * vocabulary());
    output_logits(context, {x.normed, model_.output_weight(), {}, {}}, logits.data());
    ++position_;
    return logits;
  }

 private:
  const LanguageModel& model_;
  const float* parameters_;
  std::vector<int32_t> lengths_;  // of the unread sources, end symbols alone
  Arena arena_;                   // of one step
  KvCache cache_;
  int32_t position_ = 0;
};

}  // namespace

std::unique_ptr<Stepper> LanguageModel::start(const float* parameters, const PackedRows& source) const {
  return std::make_unique<LanguageModelStepper>(*this, parameters, source);
}

}  // namespace jumok
