#include "base/error.h"
#include "models/config.h"

namespace jumok {
namespace {

// What makes h_j as wide as the decoder's states; two directions cannot share an odd width.
std::string equal_width(const ModelConfig& c) {
  const bool is_odd = c.rnn.bidirectional && c.width % 2 != 0;
  return fmt::format("encoder.width={}{}", c.width, is_odd ? " and encoder.bidirectional=false" : "");
}

void validate_encoder(const ModelConfig& c) {
  const RnnConfig& r = c.rnn;
  const int width = encoder_width(c);
  std::vector<std::string> why, both_ways;
  if (width % 2 != 0) {
    why.push_back(fmt::format("encoder.width = {}: two directions share it, so it must be even", width));
    both_ways.push_back(fmt::format("{}={}", r.encoder_width > 0 ? "encoder.width" : "model.width", width + 1));
  }
  if (r.reversed) {
    why.push_back("encoder.reversed = true: the encoder reads both ways already");
    both_ways.push_back("encoder.reversed=false");
  }
  check(!r.bidirectional || why.empty(), "{}; set {}, or encoder.bidirectional=false", fmt::join(why, "; "), fmt::join(both_ways, " and "));
  if (r.first_state != FirstState::kCopy) return;
  std::string equal = c.encoder_layers == c.decoder_layers ? "" : fmt::format("encoder.layers={}", c.decoder_layers);
  if (width != c.width) equal += (equal.empty() ? "" : " and ") + equal_width(c);
  const bool dot = r.score == Score::kDot && width != c.width;  // wants the widths equal too
  check(
      equal.empty(),
      "decoder.first-state = copy: the encoder (layers {}, width {}) and the decoder ({}, {}) differ; set decoder.first-state=bridge{}, or "
      "{}",
      c.encoder_layers, width, c.decoder_layers, c.width, dot ? " and attention.score=general" : "", equal);
}

// What only an attention reads would train in silence without one.
void validate_without_attention(const ModelConfig& c) {
  const RnnConfig& r = c.rnn;
  std::vector<std::string> idle, off;
  const auto add = [&](bool is_set, std::string value, const char* without) {
    if (!is_set) return;
    idle.push_back(std::move(value));
    off.push_back(without);
  };
  add(r.window != Window::kGlobal, r.window == Window::kLocalM ? "attention.window = local-m" : "attention.window = local-p",
      "attention.window=global");
  add(r.input_feeding, "decoder.input-feeding = true", "decoder.input-feeding=false");
  add(c.heads > 1, fmt::format("attention.heads = {}", c.heads), "attention.heads=1");
  // What an attention would want then.
  const bool outside = r.input_feeding && r.place == Place::kInside;
  const bool readout = r.readout == Readout::kPlain && (outside || r.place == Place::kAfter);
  check(idle.empty(), "{}: there is no attention; set {}, or attention.score={}{}{}", fmt::join(idle, ", "), fmt::join(off, " and "),
        c.heads > 1 ? "multi-head" : "general", outside ? " and attention.place=after" : "", readout ? " and decoder.readout=tanh" : "");
  const bool every_step = r.score == Score::kNoneEveryStep;
  check(every_step || r.readout == Readout::kPlain || r.readout == Readout::kTanh,
        "decoder.readout: there is no context to go into it; set decoder.readout=tanh, or attention.score=none-every-step");
  check(!every_step || r.readout != Readout::kPlain,
        "decoder.readout = plain: with none-every-step the context goes into every step and the readout (Cho 2014); set "
        "decoder.readout=maxout, or decoder.readout=tanh");
}

void validate_attention(const ModelConfig& c) {
  const RnnConfig& r = c.rnn;
  check(r.score != Score::kDot || encoder_width(c) == c.width,
        "attention.score = dot: query and key are compared as they are, so encoder.width = {} must equal model.width = {}; set "
        "attention.score=general, or {}",
        encoder_width(c), c.width, equal_width(c));
  const bool plain = r.readout == Readout::kPlain;
  check(!r.input_feeding || r.place == Place::kAfter,
        "decoder.input-feeding = true: inside the RNN the context enters the step by itself; set attention.place=after{}, or "
        "decoder.input-feeding=false",
        plain ? " and decoder.readout=tanh" : "");
  check(r.place == Place::kInside || !plain,
        "decoder.readout = plain: an attention after the RNN would reach nothing; set decoder.readout=tanh{}",
        r.input_feeding ? "" : ", or attention.place=inside");
  check(r.score == Score::kMultiHead || c.heads == 1,
        "attention.heads = {}: only the multi-head score has heads; set attention.score=multi-head, or attention.heads=1", c.heads);
  const int inner = r.inner_width > 0 ? r.inner_width : c.width;
  check(inner % c.heads == 0, "attention.heads = {}: expected a divisor of attention.width = {}; set attention.heads={}", c.heads, inner,
        nearest_heads(inner, c.heads));
}

void add_mechanism_settings(Settings& s, ModelConfig& c) {
  RnnConfig& r = c.rnn;
  s.choice<Score>("attention.score", r.score,
                  {{"none-initial", Score::kNoneInitial},
                   {"none-every-step", Score::kNoneEveryStep},
                   {"additive", Score::kAdditive},
                   {"dot", Score::kDot},
                   {"general", Score::kGeneral},
                   {"concat", Score::kConcat},
                   {"location", Score::kLocation},
                   {"scaled-dot", Score::kScaledDot},
                   {"multi-head", Score::kMultiHead}},
                  "how a decoder state is compared with the encoder's states; none: with one fixed vector instead");
  s.choice<Place>("attention.place", r.place, {{"inside", Place::kInside}, {"after", Place::kAfter}},
                  "inside the recurrent step (Bahdanau) or after it (Luong)");
  s.choice<Window>("attention.window", r.window, {{"global", Window::kGlobal}, {"local-m", Window::kLocalM}, {"local-p", Window::kLocalP}},
                   "all source positions, those around the target's own, or those around a predicted one");
  s.integer("attention.half-width", r.half_width, 1, 65535, "source positions to each side of a local window's centre");
  s.integer("attention.width", r.inner_width, 0, 8192, "width of projected queries and keys; 0 takes model.width");
  s.integer("attention.heads", c.heads, 1, 128, "heads of the multi-head score; must divide attention.width");
  s.integer("attention.positions", r.location_positions, 1, 65535, "source positions that the location score knows");
}

}  // namespace

int encoder_width(const ModelConfig& c) {
  if (c.rnn.encoder_width > 0) return c.rnn.encoder_width;
  return c.rnn.wide ? 2 * c.width : c.width;
}

void validate_rnn(const ModelConfig& c) {
  validate_encoder(c);
  if (has_attention(c.rnn.score)) {
    validate_attention(c);
  } else {
    validate_without_attention(c);
  }
}

Settings rnn_settings(ModelConfig& c) {
  RnnConfig& r = c.rnn;
  Settings s;
  s.choice<kernels::Cell>("rnn.cell", r.cell,
                          {{"gru", kernels::Cell::kGru}, {"lstm", kernels::Cell::kLstm}, {"tanh", kernels::Cell::kTanh}},
                          "kind of recurrent cell");
  s.flag("rnn.reset-after", r.reset_after, "GRU: the reset gate stands after the product (cuDNN, PyTorch) or before it (Cho 2014, eq. 8)");
  s.flag("rnn.residual", r.residual, "from the second layer on, add a layer's input to its output where widths agree");
  s.integer("encoder.layers", c.encoder_layers, 1, 64, "layers of the encoder");
  s.integer("encoder.width", r.encoder_width, 0, 8192, "width of an encoder state, both directions together; 0 takes model.width");
  s.flag("encoder.wide", r.wide, "with encoder.width=0: twice model.width, so that each of two directions is as wide as the decoder");
  s.flag("encoder.bidirectional", r.bidirectional, "half of each encoder state reads forward, half backward");
  s.flag("encoder.reversed", r.reversed, "a one-way encoder reads the source from its end");
  s.integer("decoder.layers", c.decoder_layers, 1, 64, "layers of the decoder");
  s.integer("model.width", c.width, 8, 8192, "width D of embeddings and decoder states");
  s.choice<FirstState>("decoder.first-state", r.first_state, {{"bridge", FirstState::kBridge}, {"copy", FirstState::kCopy}},
                       "the decoder starts from a layer over the encoder's last state, or from the last states themselves");
  add_mechanism_settings(s, c);
  s.flag("decoder.input-feeding", r.input_feeding, "the last readout enters the next step (Luong 2015 §3.3)");
  s.choice<Readout>("decoder.readout", r.readout,
                    {{"plain", Readout::kPlain}, {"tanh", Readout::kTanh}, {"linear", Readout::kLinear}, {"maxout", Readout::kMaxout}},
                    "what lies between the decoder's state and the output layer");
  return s;
}

}  // namespace jumok
