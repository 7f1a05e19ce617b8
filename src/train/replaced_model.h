// The model that a new run replaces: out of its way, but whole, until the run has one of its own.
#pragma once

#include <filesystem>

namespace jumok {

// Moves the model in `folder` into its folder `replaced` (one that stands there already stays: the run that replaced it gave none) and
// removes what else an earlier run left: its parameters must not pass for the new model's, nor its checkpoint be resumed with the new
// settings. Throws Error where a file cannot be moved or removed.
void set_aside_model(const std::filesystem::path& folder);

// Whether there is one.
bool holds_replaced_model(const std::filesystem::path& folder);

// The new model is there: the old one goes. Files of others in `replaced` stay.
void forget_replaced_model(const std::filesystem::path& folder);

}  // namespace jumok
