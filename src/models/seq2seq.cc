#include "models/seq2seq.h"

#include <algorithm>
#include <numeric>

#include "autograd/embedding.h"
#include "autograd/rows.h"

namespace jumok {
namespace {

Variable embed(Context& context, const Parameter& table, const PackedRows& rows, const RowDropout& dropout) {
  EmbeddingInput in;
  in.table = table;
  in.ids = rows.ids;
  in.position = rows.position;
  in.dropout = context.next_dropout(dropout.row_keys, dropout.rate);
  return embedding(context, in);
}

// The whole-target side of a batch.
struct TargetPass {
  const RnnDecoder& decoder;
  const PackedRows& source;
  const PackedRows& rows;
  RowDropout dropout, attention_dropout;
  AttentionMaps::Map* map = nullptr;
  Variable embedded, gates;  // of every row: [Nt, D], and the first layer's gates without the state
  RnnPass pass;
  RnnState state;
};

std::span<int32_t> numbers(Arena& arena, int64_t n) { return arena.allocate<int32_t>(n); }

// The sentence of each row, [Nt].
std::span<int32_t> sentence_of_row(Arena& arena, const PackedRows& rows) {
  const std::span<int32_t> sentence = numbers(arena, rows.rows());
  for (int b = 0; b < rows.sentences(); ++b) {
    std::fill_n(sentence.begin() + rows.begin[static_cast<size_t>(b)], rows.length[static_cast<size_t>(b)], b);
  }
  return sentence;
}

// All rows at once: nothing of a step waits for the attention of the one before.
RnnDecoder::Output run_whole(Context& context, TargetPass& target) {
  RnnRows rows;
  rows.begin = target.rows.begin;
  rows.length = target.rows.length;
  rows.sentence = sentence_of_row(context.arena, target.rows);
  rows.dropout = target.dropout;
  const std::span<int32_t> sentence = numbers(context.arena, target.rows.sentences());
  std::iota(sentence.begin(), sentence.end(), 0);
  rows.attention.rows = {target.rows.begin, target.rows.length, target.source.begin, target.source.length};
  rows.attention.position = target.rows.position;
  rows.attention.sentence = sentence;
  rows.attention.dropout = target.attention_dropout;
  rows.attention.map = target.map;
  return target.decoder.run(context, target.gates, target.state, target.pass, rows);
}

// The sentences longest first, so that those still alive at a step stand in front; what each of them reads.
struct LongestFirst {
  std::span<int32_t> sentence, key_begin, key_length;  // [B]
  std::span<int32_t> row, one;                         // [B] 0, 1, 2, …; 1, 1, 1, …

  LongestFirst(Arena& arena, const TargetPass& target) {
    const int64_t n = target.rows.sentences();
    sentence = numbers(arena, n);
    std::iota(sentence.begin(), sentence.end(), 0);
    const std::vector<int32_t>& length = target.rows.length;
    std::stable_sort(sentence.begin(), sentence.end(), [&](int32_t a, int32_t b) { return length[a] > length[b]; });
    key_begin = numbers(arena, n);
    key_length = numbers(arena, n);
    row = numbers(arena, n);
    one = numbers(arena, n);
    std::iota(row.begin(), row.end(), 0);
    std::fill(one.begin(), one.end(), 1);
    for (size_t r = 0; r < sentence.size(); ++r) {
      key_begin[r] = target.source.begin[sentence[r]];
      key_length[r] = target.source.length[sentence[r]];
    }
  }
};

std::span<uint32_t> keys_of(Arena& arena, const uint32_t* row_keys, std::span<const int32_t> index) {
  if (row_keys == nullptr) return {};
  const std::span<uint32_t> keys = arena.allocate<uint32_t>(static_cast<int64_t>(index.size()));
  for (size_t r = 0; r < index.size(); ++r) keys[r] = row_keys[index[r]];
  return keys;
}

// Rows of time step t: row r is sentence `order.sentence[r]`, and stands at `index[r]` of the packed target.
RnnRows rows_of_step(Context& context, const TargetPass& target, const LongestFirst& order, int32_t t, std::span<const int32_t> index) {
  const size_t alive = index.size();
  const std::span<int32_t> position = numbers(context.arena, static_cast<int64_t>(alive));
  std::fill(position.begin(), position.end(), t);
  const std::span<uint32_t> keys = keys_of(context.arena, target.dropout.row_keys, index);
  const uint32_t* row_keys = keys.empty() ? nullptr : keys.data();
  RnnRows rows;
  rows.begin = order.row.first(alive);
  rows.length = order.one.first(alive);
  rows.sentence = order.sentence.first(alive);
  rows.dropout = {target.dropout.rate, row_keys};
  rows.attention.rows = {rows.begin, rows.length, order.key_begin.first(alive), order.key_length.first(alive)};
  rows.attention.position = position;
  rows.attention.sentence = rows.sentence;
  rows.attention.dropout = {target.attention_dropout.rate, row_keys};
  rows.attention.map = target.map;
  return rows;
}

void keep_first(Context& context, RnnState& state, int64_t rows) {
  for (auto* states : {&state.h, &state.c}) {
    for (Variable& v : *states) v = first_rows(context, v, rows);
  }
  if (state.fed.value) state.fed = first_rows(context, state.fed, rows);
}

void reorder(Context& context, RnnState& state, std::span<const int32_t> index) {
  for (auto* states : {&state.h, &state.c}) {
    for (Variable& v : *states) v = gather_rows(context, v, index);
  }
  if (state.fed.value) state.fed = gather_rows(context, state.fed, index);
}

// One time step after the other over the sentences still alive. With input feeding the readout is part of the step: what comes back is the
// readout as `h`.
RnnDecoder::Output run_steps(Context& context, TargetPass& target) {
  const RnnDecoder& decoder = target.decoder;
  RnnState& state = target.state;
  const LongestFirst order(context.arena, target);
  reorder(context, state, order.sentence);
  std::vector<RowBlock> h, c;
  const uint32_t site = context.dropout_site;  // a step's dropouts have the same sites at every t: how many steps there are must not matter
  for (int32_t t = 0;; ++t) {
    const auto alive = std::count_if(target.rows.length.begin(), target.rows.length.end(), [t](int32_t n) { return n > t; });
    if (alive == 0) break;
    const std::span<int32_t> index = numbers(context.arena, alive);
    for (size_t r = 0; r < index.size(); ++r) index[r] = target.rows.begin[order.sentence[r]] + t;
    keep_first(context, state, alive);
    context.dropout_site = site;
    const RnnRows rows = rows_of_step(context, target, order, t, index);
    RnnDecoder::Output out = decoder.run(context, gather_rows(context, target.gates, index), state, target.pass, rows);
    if (decoder.feeds_input()) {
      out.h = decoder.readout(context, gather_rows(context, target.embedded, index), out, target.pass, rows.dropout);
      state.fed = out.h;
    }
    h.push_back({out.h, index});
    c.push_back({out.c, index});
  }
  RnnDecoder::Output all;
  all.h = scatter_rows(context, target.rows.rows(), h);
  if (!decoder.feeds_input()) all.c = scatter_rows(context, target.rows.rows(), c);
  return all;
}

AttentionMaps::Map empty_map(const std::string& name, int heads, const PairBatch& batch) {
  AttentionMaps::Map map{name, heads, {}, {}};
  if (batch.maps->parts) map.parts.resize(batch.source.begin.size());
  for (size_t b = 0; b < batch.source.begin.size(); ++b) {
    const size_t cells = static_cast<size_t>(batch.target.input.length[b]) * batch.source.length[b];
    for (int h = 0; h < heads; ++h) map.weights.emplace_back(cells);
  }
  return map;
}

constexpr const char* kAttentionName = "decoder.attention";

}  // namespace

Seq2Seq::Seq2Seq(const ModelConfig& config) : config_(config) {
  config_.validate();
  embeddings_ = make_embeddings(layout_, config_);
  encoder_ = RnnEncoder(layout_, config_);
  decoder_ = RnnDecoder(layout_, config_, encoder_);
}

std::vector<std::string> Seq2Seq::source_attentions() const {
  if (decoder_.attention_heads() == 0) return {};
  return {kAttentionName};
}

RnnEncoded Seq2Seq::encode(Context& context, const PackedRows& source, const RowDropout& dropout, const Tensor& state_gradient) const {
  return encoder_(context, embed(context, embeddings_.source, source, dropout), {source.begin, source.length, dropout, state_gradient});
}

Variable Seq2Seq::embed_target(Context& context, const PackedRows& target, const RowDropout& dropout) const {
  return embed(context, embeddings_.target, target, dropout);
}

Variable Seq2Seq::hidden(Context& context, const PairBatch& batch) const {
  const auto dropout = [](double rate, std::span<const uint32_t> keys) {
    return RowDropout{static_cast<float>(rate), keys.empty() ? nullptr : keys.data()};
  };
  TargetPass target{decoder_, batch.source, batch.target.input, dropout(batch.dropout, batch.target_keys),
                    dropout(batch.attention_dropout, batch.target_keys)};
  const bool wants_map = batch.maps != nullptr && decoder_.attention_heads() > 0 && batch.maps->wants(kAttentionName);
  AttentionMaps::Map map;
  if (wants_map) {
    map = empty_map(kAttentionName, decoder_.attention_heads(), batch);
    target.map = &map;
  }
  const RnnEncoded source = encode(context, batch.source, dropout(batch.dropout, batch.source_keys), batch.encoder_gradient);
  target.embedded = embed_target(context, batch.target.input, target.dropout);
  target.pass = decoder_.start(context, source);
  target.state = decoder_.first_state(context, source, target.pass);
  target.gates = decoder_.input_gates(context, target.embedded, target.pass, sentence_of_row(context.arena, batch.target.input));
  const RnnDecoder::Output out = decoder_.steps_depend_on_attention() ? run_steps(context, target) : run_whole(context, target);
  if (wants_map) batch.maps->maps.push_back(std::move(map));
  return decoder_.feeds_input() ? out.h : decoder_.readout(context, target.embedded, out, target.pass, target.dropout);
}

}  // namespace jumok
