#include "model_kind.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "jumok/generator.h"

namespace jumok {

void expect_translation_model(const std::string& model) {
  if (is_language_model(model))
    throw CLI::ValidationError("--model", fmt::format("{} is a language model: it has no source; see jumok generate and score", model));
}

void expect_language_model(const std::string& model) {
  if (!is_language_model(model))
    throw CLI::ValidationError("--model", fmt::format("{} is a translation model: it needs a source; see jumok translate", model));
}

}  // namespace jumok
