#include "lab/explain_formulas.h"

#include <fmt/format.h>

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

}  // namespace

std::vector<std::string> formulas_of(const ModelConfig& config, const std::string& attention, const AttentionParts& p, int heads) {
  std::vector<std::string> lines;
  if (config.architecture == Architecture::kRnn) {
    lines.push_back(recurrent_projections(p.score, config.rnn.place == Place::kInside ? "s_{t−1}" : "h_t"));
  } else {
    lines.push_back(transformer_projections(config.head_options, attention.ends_with("cross_attention")));
  }
  lines.push_back(score_formula(p, p.query.columns / heads));
  if (p.centre.empty()) {
    lines.emplace_back("α = softmax(e) over the keys allowed");
  } else {  // Luong 2015, eq. 9 and 10: the weights are not made to sum to 1 again
    lines.emplace_back("p = S·sigmoid(v_p·tanh(W_p h_t))");
    lines.push_back(fmt::format("α_j = softmax(e)_j · exp(−(j − p)² / 2σ²), σ = {}, over the keys allowed", p.sigma));
  }
  lines.emplace_back("c = Σ_j α_j v_j");
  if (p.output.rows > 0) lines.emplace_back("output = W_O [c of every head] + b");
  return lines;
}

std::string allowed_keys(const AttentionParts& p, int64_t row, int64_t keys) {
  if (p.causal) {
    const int64_t last = keys - p.query.rows + row;
    return last + 1 == keys ? fmt::format("all {} keys: none is later than the query", keys)
                            : fmt::format("keys 0 to {} of {}: what comes after the query is blocked", last, keys);
  }
  if (p.first.empty()) return fmt::format("all {} keys", keys);
  const int64_t first = p.first[static_cast<size_t>(row)], end = p.last[static_cast<size_t>(row)];
  return first < end ? fmt::format("keys {} to {} of {}: the rest lies outside the window", first, end - 1, keys)
                     : "none: the window holds no key";
}

}  // namespace jumok
