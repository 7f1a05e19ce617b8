// The look of all pages, as one <style> text.
#pragma once

#include <string_view>

namespace jumok {

std::string_view page_style();

}  // namespace jumok
