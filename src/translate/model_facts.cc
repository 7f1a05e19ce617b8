#include "translate/model_facts.h"

#include <fmt/format.h>

namespace jumok {
namespace {

std::string vocabulary(const LoadedModel& m) {
  if (m.config.architecture == Architecture::kLanguageModel) return fmt::format("{} subwords", m.config.target_vocabulary);
  if (m.subwords.joint()) return fmt::format("{} joint subwords", m.config.source_vocabulary);
  return fmt::format("{} source, {} target subwords", m.config.source_vocabulary, m.config.target_vocabulary);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> model_facts(const LoadedModel& m) {
  ModelConfig config = m.config;
  const bool decoder_only = config.architecture == Architecture::kLanguageModel;
  std::vector<std::pair<std::string, std::string>> facts = {
      {"architecture", architecture_name(config.architecture) + (decoder_only ? " (decoder-only)" : " (encoder-decoder)")},
      {"parameters", std::to_string(m.model->layout().count())},
      {"vocabulary", vocabulary(m)},
      {"text", m.subwords.source->lowercase() ? "lowercased" : "as written"},
  };
  const Settings settings = model_settings(config);
  for (const Setting& s : settings.all()) facts.emplace_back(s.key, s.get());
  const auto file = [&](const char* key) {  // config.json may have been edited by hand
    return m.training.contains(key) && m.training[key].is_string() ? m.training[key].get<std::string>() : std::string("?");
  };
  if (m.training.contains("source")) facts.emplace_back("trained on", fmt::format("{} → {}", file("source"), file("target")));
  if (m.training.contains("text")) facts.emplace_back("trained on", file("text"));
  return facts;
}

}  // namespace jumok
