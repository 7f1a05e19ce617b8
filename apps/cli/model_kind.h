// Which subcommands a model is for.
#pragma once

#include <string>

namespace jumok {

// Throw CLI::ValidationError (wrong usage) where the model directory holds a model of the other kind, Error where it cannot be read.
void expect_translation_model(const std::string& model);
void expect_language_model(const std::string& model);

}  // namespace jumok
