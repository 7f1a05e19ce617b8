#include "lab/explain_decoder.h"

#include "autograd/rows.h"
#include "data/packed.h"
#include "tensor/arena.h"

namespace jumok {

DecoderRows decoder_rows(const Seq2Seq& model, const float* parameters, const SymbolPair& pair) {
  Arena arena;
  Context context{arena, parameters};
  const RnnDecoder& decoder = model.decoder();
  const std::vector<std::vector<int32_t>> sources = {pair.source}, targets = {pair.target};
  const PackedRows source = pack_source(sources), target = pack_target(targets).input;
  const RnnEncoded encoded = model.encode(context, source, {});
  const Variable embedded = model.embed_target(context, target, {});
  const RnnPass pass = decoder.start(context, encoded);
  RnnState state = decoder.first_state(context, encoded, pass);
  const std::vector<int32_t> sentence(target.ids.size(), 0);
  const Variable gates = decoder.input_gates(context, embedded, pass, sentence);
  const bool inside = model.config().rnn.place == Place::kInside;
  const int32_t zero = 0, one = 1;
  DecoderRows rows{{target.rows(), model.config().width}, {target.rows(), model.config().width}};
  for (int32_t t = 0; t < target.rows(); ++t) {
    if (inside) rows.asking.put(t, state.h.front().value, 0, 1);
    RnnRows step;
    step.begin = step.sentence = {&zero, 1};
    step.length = {&one, 1};
    step.attention.rows = {step.begin, step.length, source.begin, source.length};
    step.attention.position = {&t, 1};
    step.attention.sentence = step.sentence;
    const RnnDecoder::Output out = decoder.run(context, gather_rows(context, gates, {&t, 1}), state, pass, step);
    if (!inside) rows.asking.put(t, out.h.value, 0, 1);
    const Variable y = decoder.readout(context, gather_rows(context, embedded, {&t, 1}), out, pass, {});
    if (decoder.feeds_input()) state.fed = y;
    rows.readout.put(t, y.value, 0, 1);
  }
  return rows;
}

}  // namespace jumok
