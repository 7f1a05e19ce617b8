// One position at a time: the language model with a key/value cache.
#include "autograd/rows.h"
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
    cache_.follow(parents);
    Context context{arena_, parameters_};
    PackedRows rows = one_row_each(symbols, 0);
    for (size_t r = 0; r < symbols.size(); ++r) rows.position[r] = cache_.lengths()[r] - 1;
    const TransformerStack& stack = model_.decoder();
    Stream x = stack.begin(context, model_.symbols()(context, {rows, {}, {}}));
    for (size_t l = 0; l < stack.layers.size(); ++l) {
      x = stack.self_attention_step(context, l, x, rows, cache_);
      x = stack.feed_forward(context, l, x, {});
    }
    const std::span<float> logits = arena_.allocate<float>(static_cast<int64_t>(symbols.size()) * vocabulary());
    output_logits(context, {x.normed, model_.output_weight(), {}, {}}, logits.data());
    return logits;
  }

  // Some prompts a pass: a long one alone, so that the activations stay small.
  std::span<float> read_prompts(std::span<const std::vector<int32_t>> prompts) override {
    constexpr size_t kRows = 1024;
    std::vector<int32_t> lengths;
    for (const auto& p : prompts) lengths.push_back(static_cast<int32_t>(p.size()));
    cache_.begin(lengths);
    prompt_logits_.resize(prompts.size() * static_cast<size_t>(vocabulary()));
    for (size_t begin = 0, end = 0; begin < prompts.size(); begin = end) {
      size_t rows = 0;
      do rows += prompts[end++].size();
      while (end < prompts.size() && rows + prompts[end].size() <= kRows);
      read_some(prompts.subspan(begin, end - begin), static_cast<int>(begin));
    }
    return prompt_logits_;
  }

 private:
  void read_some(std::span<const std::vector<int32_t>> prompts, int first_row) {
    arena_.reset();
    Context context{arena_, parameters_};
    const PackedRows rows = pack_plain(prompts);
    const TransformerStack& stack = model_.decoder();
    Stream x = stack.begin(context, model_.symbols()(context, {rows, {}, {}}));
    for (size_t l = 0; l < stack.layers.size(); ++l) {
      x = stack.self_attention_prompts(context, l, x, rows, first_row, cache_);
      x = stack.feed_forward(context, l, x, {});
    }
    std::vector<int32_t> last;
    for (size_t s = 0; s < prompts.size(); ++s) last.push_back(rows.begin[s] + rows.length[s] - 1);
    const Variable ends = gather_rows(context, x.normed, last);
    output_logits(context, {ends, model_.output_weight(), {}, {}},
                  prompt_logits_.data() + static_cast<size_t>(first_row) * static_cast<size_t>(vocabulary()));
  }

  const LanguageModel& model_;
  const float* parameters_;
  std::vector<int32_t> lengths_;  // of the unread sources, end symbols alone
  Arena arena_;                   // of one step
  KvCache cache_;
  std::vector<float> prompt_logits_;  // [sentences, V]
};

}  // namespace

std::unique_ptr<Stepper> LanguageModel::start(const float* parameters, const PackedRows& source) const {
  return std::make_unique<LanguageModelStepper>(*this, parameters, source);
}

}  // namespace jumok
