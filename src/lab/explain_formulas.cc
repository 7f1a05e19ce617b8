#include "lab/explain_formulas.h"

#include <fmt/format.h>

#include <algorithm>

namespace jumok {
namespace {

constexpr const char* kApart = "        ";

// docs/model-format.md, "Transformers": a projection that was taken away leaves the input itself.
std::string transformer_projections(const HeadOptions& o, bool cross) {
  const std::string from = "x_i", to = cross ? "y_j" : "x_j";
  const Score score = cross ? o.score : Score::kScaledDot;
  const bool one = o.sharing == Sharing::kOne;
  const bool query = o.query && score != Score::kDot && score != Score::kGeneral, key = o.key && score != Score::kDot;
  const auto projected = [&](bool there, const char* weight, const std::string& x) {
    return there ? fmt::format("{} {} + b", one ? "W" : weight, x) : x;
  };
  const std::string value = o.sharing == Sharing::kKeyIsValue ? "k_j" : projected(o.value, "W_V", to);
  return fmt::format("q = {}{}k_j = {}{}v_j = {}", projected(query, "W_Q", from), kApart, projected(key, "W_K", to), kApart, value);
}

// The table of attention/recurrent_attention.h.
std::string recurrent_projections(Score score, const std::string& state) {
  switch (score) {
    case Score::kAdditive:
    case Score::kConcat:
      return fmt::format("q = W_a {}{}k_j = U_a h_j{}v_j = h_j", state, kApart, kApart);
    case Score::kGeneral:
      return fmt::format("q = {}{}k_j = W_a h_j{}v_j = h_j", state, kApart, kApart);
    case Score::kLocation:
      return fmt::format("q = {}{}v_j = h_j", state, kApart);
    case Score::kScaledDot:
    case Score::kMultiHead:
      return fmt::format("q = W_Q {}{}k_j = W_K h_j{}v_j = W_V h_j", state, kApart, kApart);
    default:
      return fmt::format("q = {}{}k_j = h_j{}v_j = h_j", state, kApart, kApart);
  }
}

std::string score_formula(const AttentionParts& p, int64_t width) {
  if (p.score == Score::kAdditive || p.score == Score::kConcat) return "e_j = v·tanh(q + k_j)";
  if (p.score == Score::kLocation) return "e_j = (W_a q)_j";
  return p.scale == 1 ? "e_j = q·k_j" : fmt::format("e_j = q·k_j / √{}", width);
}

// What the output layer reads, of a recurrent model: models/rnn_config.h.
std::string readout_formula(const RnnConfig& r, const std::string& context) {
  const char* const state = r.place == Place::kInside ? "s_t" : "h_t";
  switch (r.readout) {
    case Readout::kTanh:
      return fmt::format("h̃_t = tanh(W_c [{}; {}] + b)", context, state);
    case Readout::kLinear:
      return fmt::format("t_t = W [{}; E y_{{t−1}}; {}] + b", state, context);
    case Readout::kMaxout:
      return fmt::format("t_t = the larger of each two of W [{}; E y_{{t−1}}; {}] + b", state, context);
    default:
      return "";
  }
}

}  // namespace

std::string output_name(const ModelConfig& config, const AttentionParts& p) {
  if (p.output.rows == 0) return "";
  return config.architecture == Architecture::kRnn ? "W_O [c_1; …]" : "W_O [c_1; …] + b";
}

std::string readout_name(const ModelConfig& config) {
  if (config.architecture != Architecture::kRnn || config.rnn.readout == Readout::kPlain) return "";
  return config.rnn.readout == Readout::kTanh ? "h̃_t" : "t_t";
}

std::vector<std::string> formulas_of(const ModelConfig& config, const std::string& attention, const AttentionParts& p, int heads) {
  std::vector<std::string> lines;
  const bool recurrent = config.architecture == Architecture::kRnn;
  const std::string state = config.rnn.place == Place::kInside ? "s_{t−1}" : "h_t";  // that asks, of a recurrent model
  if (recurrent) {
    lines.push_back(recurrent_projections(p.score, state));
  } else {
    lines.push_back(transformer_projections(config.head_options, attention.ends_with("cross_attention")));
  }
  lines.push_back(score_formula(p, p.query.columns / heads));
  if (p.centre.empty()) {
    lines.emplace_back("α = softmax(e) over the keys allowed");
  } else {  // Luong 2015, eq. 9 and 10: the weights are not made to sum to 1 again
    lines.push_back(fmt::format("p = S·sigmoid(v_p·tanh(W_p {}))", state));
    lines.push_back(fmt::format("α_j = softmax(e)_j · exp(−(j − p)² / 2σ²), σ = {}, over the keys allowed", p.sigma));
  }
  lines.emplace_back("c = Σ_j α_j v_j");
  const bool projected = p.output.rows > 0;
  if (projected) lines.push_back(fmt::format("output = W_O [c of every head]{}", recurrent ? "" : " + b"));
  if (!readout_name(config).empty()) lines.push_back(readout_formula(config.rnn, projected ? "output" : "c"));
  return lines;
}

std::string allowed_keys(const AttentionParts& p, int64_t row, int64_t keys) {
  if (p.causal) {
    const int64_t last = keys - p.query.rows + row;
    return last + 1 == keys ? fmt::format("all {} keys: none is later than the query", keys)
                            : fmt::format("keys 0 to {} of {}: what comes after the query is blocked", last, keys);
  }
  const bool windowed = !p.first.empty();
  // The window itself does not end where the sentence does, and the location score gives a score for each position that W_a knows.
  const int64_t first = windowed ? p.first[static_cast<size_t>(row)] : 0;
  const int64_t window_end = windowed ? std::min<int64_t>(p.last[static_cast<size_t>(row)], keys) : keys;
  const int64_t known = p.score == Score::kLocation ? p.query.columns : keys;
  const int64_t end = std::min(window_end, known);
  const std::string beyond = window_end > known ? fmt::format("the {} positions that the location score knows", known) : "";
  if (first >= end) return "none: the window holds no key" + (beyond.empty() ? "" : " of " + beyond);
  if (first == 0 && end == keys) return fmt::format("all {} keys{}", keys, windowed ? ": the window holds the whole sentence" : "");
  const std::string range = fmt::format("keys {} to {} of {}: the rest lies ", first, end - 1, keys);
  if (!windowed) return range + "beyond " + beyond;
  return range + "outside the window" + (beyond.empty() ? "" : " or beyond " + beyond);
}

}  // namespace jumok
