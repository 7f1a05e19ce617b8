// Messages of the library to its caller. The library itself never prints: it calls the sink it was given, or stays silent.
#pragma once

#include <functional>
#include <string>

namespace jumok {

enum class LogLevel { kInfo, kWarning };

// Called from any thread the library uses, one call at a time per object that was given the sink. It may use that object.
using LogSink = std::function<void(LogLevel, const std::string&)>;

}  // namespace jumok
