// One position at a time: the Transformer's decoder with a key/value cache.
#include <algorithm>

#include "attention/kv_cache.h"
#include "models/live_rows.h"
#include "models/transformer.h"

namespace jumok {
namespace {

class TransformerStepper : public Stepper {
 public:
  TransformerStepper(const Transformer& model, const float* parameters, const PackedRows& source)
      : model_(model), parameters_(parameters), source_(source), cache_(model.config().decoder_layers, model.config().width) {
    Arena encoder_arena;  // the encoder's activations are many times the memory, and done with before the first step
    Context encoding{encoder_arena, parameters_}, keeping{memory_arena_, parameters_};
    memory_ = model_.project_memory(keeping, kept(model_.encode(encoding, {source_, {}, {}}, nullptr)));
  }

  int vocabulary() const override { return model_.config().target_vocabulary; }
  int sentences() const override { return source_.sentences(); }
  int longest_target() const override { return model_.config().max_positions; }
  int source_length(int sentence) const override { return source_.length[sentence]; }

  std::span<float> step(std::span<const int32_t> parents, std::span<const int32_t> symbols) override {
    arena_.reset();
    follow(parents);
    Context context{arena_, parameters_};
    const PackedRows rows = one_row_each(symbols, position_);
    const Variable h = decode(context, rows);
    const int64_t count = static_cast<int64_t>(symbols.size());
    const std::span<float> logits = arena_.allocate<float>(count * vocabulary());
    output_logits(context, {h, model_.output_weight(), {}, {}}, logits.data());
    ++position_;
    return logits;
  }

 private:
  // The encoder's output outlives the encoder's arena: without W_K or W_V it is itself the keys or values of every step.
  Variable kept(const Variable& memory) {
    const Variable copy{memory_arena_.tensor(memory.value.rows, memory.value.columns)};
    for (int64_t r = 0; r < memory.value.rows; ++r) std::copy_n(memory.value.row(r), memory.value.columns, copy.value.row(r));
    return copy;
  }

  // Which sentence each row belongs to now, and its cache slot.
  void follow(std::span<const int32_t> parents) {
    sentence_ = follow_sentences(parents, sentence_, position_ == 0);
    cache_.follow(parents);
  }

  Variable decode(Context& context, const PackedRows& rows) {
    const TransformerStack& stack = model_.decoder();
    const SentenceGroups groups = group_by_sentence(sentence_, source_);
    const AttentionCall cross{groups.rows(), false, {}, nullptr};
    Stream x = stack.begin(context, model_.target_symbols()(context, {rows, {}, {}}));
    for (size_t l = 0; l < stack.layers.size(); ++l) {
      x = stack.self_attention_step(context, l, x, rows, cache_);
      x = stack.cross_attention(context, l, x, memory_[2 * l], memory_[2 * l + 1], cross, {});
      x = stack.feed_forward(context, l, x, {});
    }
    return x.normed;
  }

  const Transformer& model_;
  const float* parameters_;
  PackedRows source_;
  Arena memory_arena_, arena_;    // of the whole search; of one step
  std::vector<Variable> memory_;  // K_0, V_0, K_1, … of the sources, [Ns, D] each
  KvCache cache_;
  std::vector<int32_t> sentence_;  // of each live row
  int32_t position_ = 0;
};

}  // namespace

std::unique_ptr<Stepper> Transformer::start(const float* parameters, const PackedRows& source) const {
  return std::make_unique<TransformerStepper>(*this, parameters, source);
}

}  // namespace jumok
