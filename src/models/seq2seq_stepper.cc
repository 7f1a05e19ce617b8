// One position at a time: the recurrent decoder with its state carried from step to step.
#include "autograd/rows.h"
#include "models/live_rows.h"
#include "models/seq2seq.h"

namespace jumok {
namespace {

class Seq2SeqStepper : public Stepper {
 public:
  Seq2SeqStepper(const Seq2Seq& model, const float* parameters, const PackedRows& source)
      : model_(model), parameters_(parameters), source_(source) {
    Context context{memory_arena_, parameters_};
    const RnnEncoded encoded = model_.encode(context, source_, {});
    pass_ = model_.decoder().start(context, encoded);
    state_ = model_.decoder().first_state(context, encoded, pass_);
  }

  int vocabulary() const override { return model_.config().target_vocabulary; }
  int sentences() const override { return source_.sentences(); }
  int source_length(int sentence) const override { return source_.length[sentence]; }

  std::span<float> step(std::span<const int32_t> parents, std::span<const int32_t> symbols) override {
    Arena& arena = arenas_[position_ % 2];  // the other one holds the state that this step reads
    arena.reset();
    Context context{arena, parameters_};
    follow(context, parents);
    const auto rows = static_cast<int64_t>(symbols.size());
    const Variable h = decode(context, symbols);
    const std::span<float> logits = arena.allocate<float>(rows * vocabulary());
    output_logits(context, {h, model_.output_weight(), {}, {}}, logits.data());
    ++position_;
    return logits;
  }

 private:
  // Which sentence each row belongs to now, and its state: row r goes on from row parents[r].
  void follow(Context& context, std::span<const int32_t> parents) {
    sentence_ = follow_sentences(parents, sentence_, position_ == 0);
    for (auto* states : {&state_.h, &state_.c}) {
      for (Variable& v : *states) v = gather_rows(context, v, parents);
    }
    if (state_.fed.value) state_.fed = gather_rows(context, state_.fed, parents);
  }

  Variable decode(Context& context, std::span<const int32_t> symbols) {
    const RnnDecoder& decoder = model_.decoder();
    const PackedRows one_each = one_row_each(symbols, position_);
    const Variable e = model_.embed_target(context, one_each, {});
    const SentenceGroups groups = group_by_sentence(sentence_, source_);
    RnnRows rows;
    rows.begin = one_each.begin;
    rows.length = one_each.length;
    rows.sentence = sentence_;
    rows.attention.rows = groups.rows();
    rows.attention.position = one_each.position;
    const RnnDecoder::Output out = decoder.run(context, decoder.input_gates(context, e, pass_, sentence_), state_, pass_, rows);
    const Variable h = decoder.readout(context, e, out, pass_, {});
    if (decoder.feeds_input()) state_.fed = h;
    return h;
  }

  const Seq2Seq& model_;
  const float* parameters_;
  PackedRows source_;
  Arena memory_arena_, arenas_[2];  // of the whole search; of one step and the one before
  RnnPass pass_;
  RnnState state_;
  std::vector<int32_t> sentence_;  // of each live row
  int32_t position_ = 0;
};

}  // namespace

std::unique_ptr<Stepper> Seq2Seq::start(const float* parameters, const PackedRows& source) const {
  return std::make_unique<Seq2SeqStepper>(*this, parameters, source);
}

}  // namespace jumok
