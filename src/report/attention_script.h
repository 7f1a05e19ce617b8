// The script of the attention page: paints the small maps, swaps the large one, tells the weight under the pointer.
#pragma once

#include <string_view>

namespace jumok {

std::string_view attention_script();

}  // namespace jumok
