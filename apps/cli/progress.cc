#include "progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace jumok {
namespace {

constexpr int kMostBarCells = 24, kFewestBarCells = 8;
constexpr char kBack[] = "\r\x1b[K";  // to the start of the line, and erase it

bool is_terminal(std::FILE* stream) {
  const char* kind = std::getenv("TERM");
  return ::isatty(::fileno(stream)) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
}

int terminal_width(std::FILE* stream) {
  winsize size{};
  const bool known = ::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

// 1234 as it is, 1234567 as 1.23M: counts stay readable and short.
std::string format_count(double count) { return count < 1e6 ? fmt::format("{:.0f}", count) : format_rate(count); }

// Whether standard error takes it is not our concern here: a closed one must not end the work.
void put(std::FILE* stream, const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stream);
  std::fflush(stream);
}

void append(std::string& line, std::string_view part) {
  if (part.empty()) return;
  if (!line.empty()) line += "  ";
  line += part;
}

}  // namespace

std::string progress_bar(double fraction, int cells) {
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::floor(std::clamp(fraction, 0.0, 1.0) * cells * 8));
  std::string bar;
  for (int cell = 0; cell < eighths / 8; ++cell) bar += "█";
  bar += kEighths[eighths % 8];
  const int used = (eighths + 7) / 8;
  return "▕" + bar + std::string(static_cast<size_t>(cells - used), ' ') + "▏";
}

std::string format_duration(double seconds) {
  const auto whole = static_cast<long long>(std::max(0.0, std::round(seconds)));
  const auto minutes = whole / 60, hours = minutes / 60, days = hours / 24;
  if (days > 0) return fmt::format("{} d {:02} h", days, hours % 24);
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes % 60, whole % 60);
  return fmt::format("{}:{:02}", minutes, whole % 60);
}

std::string format_rate(double value) {
  static constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T"};
  int prefix = 0;
  // 999.5 would be printed as 1000.
  while (value >= 999.5 && prefix < 4) {
    value /= 1000;
    ++prefix;
  }
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : value >= 0.9995 || value == 0 ? 2 : 3;
  return fmt::format("{:.{}f}{}", value, decimals, kPrefixes[prefix]);
}

std::string_view fit_cells(std::string_view text, int cells) {
  size_t end = 0;
  const auto continues = [&](size_t i) { return (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80; };
  for (; end < text.size() && cells > 0; --cells) {
    do {
      ++end;
    } while (end < text.size() && continues(end));
  }
  return text.substr(0, end);
}

int cells_of(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string_view fit_parts(std::string_view text, int cells) {
  for (size_t end = text.size(); end != std::string_view::npos && end > 0; end = text.rfind("  ", end - 1)) {
    if (cells_of(text.substr(0, end)) <= cells) return text.substr(0, end);
  }
  return fit_cells(text, cells);
}

Progress::Progress(ProgressOptions options)
    : options_(std::move(options)), terminal_(is_terminal(options_.stream)), next_(terminal_ ? 0 : options_.line_seconds) {}

Progress::~Progress() {
  std::lock_guard lock(mutex_);
  clear();
}

// One cell is left free: writing into the last one makes some terminals wrap.
int Progress::width() const { return terminal_width(options_.stream) - 1; }

double Progress::seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

// "42%  1234/2900 updates  3.4 updates/s  8:10 left", as far as these are known.
std::string Progress::figures(double done) const {
  const double passed = seconds(), work = done - start_;
  std::string line;
  if (options_.total > 0) append(line, fmt::format("{:3.0f}%", std::floor(std::clamp(100 * done / options_.total, 0.0, 100.0))));
  if (!options_.unit.empty()) {
    const std::string total = options_.total > 0 ? "/" + format_count(options_.total) : "";
    append(line, fmt::format("{}{} {}", format_count(done), total, options_.unit));
    if (work > 0 && passed > 0) append(line, fmt::format("{} {}/s", format_rate(work / passed), options_.unit));
  }
  if (options_.total > done && work > 0) append(line, format_duration((options_.total - done) * passed / work) + " left");
  return line;
}

void Progress::resume(double done) {
  std::lock_guard lock(mutex_);
  start_ = done;
}

void Progress::update(double done, std::string_view text) {
  std::lock_guard lock(mutex_);
  const double now = seconds();
  if (options_.quiet || now < next_) return;
  next_ = now + (terminal_ ? options_.bar_seconds : std::max(options_.line_seconds, now / 10));
  std::string rest = figures(done);
  append(rest, text);
  std::string line = options_.label;
  if (terminal_ && options_.total > 0) {
    const int left = width() - cells_of(options_.label) - cells_of(rest) - 6;  // the bar's two ends and two gaps of two cells
    if (left >= kFewestBarCells || cells_of(line) + kFewestBarCells + 4 <= width())
      append(line, progress_bar(done / options_.total, std::clamp(left, kFewestBarCells, kMostBarCells)));
  }
  append(line, rest);
  draw(line);
}

void Progress::note(std::string_view line) {
  std::lock_guard lock(mutex_);
  const std::string bar = shown_;
  clear();
  put(options_.stream, std::string(line) + "\n");
  if (!bar.empty()) draw(bar);
}

void Progress::finish(double done, std::string_view text) {
  std::lock_guard lock(mutex_);
  clear();
  if (options_.quiet) return;
  const double passed = seconds(), work = done - start_;
  std::string line = options_.label;
  if (!options_.unit.empty()) append(line, fmt::format("{} {}", format_count(done), options_.unit));
  line += " in " + format_duration(passed);
  if (!options_.unit.empty() && passed > 0) append(line, fmt::format("{} {}/s", format_rate(work / passed), options_.unit));
  append(line, text);
  put(options_.stream, line + "\n");
}

void Progress::draw(std::string_view line) {
  if (terminal_) {
    shown_ = fit_parts(line, width());
    put(options_.stream, kBack + shown_);
  } else {
    put(options_.stream, std::string(line) + "\n");
  }
  std::fflush(options_.stream);
}

void Progress::clear() {
  if (shown_.empty()) return;
  shown_.clear();
  put(options_.stream, kBack);
}

}  // namespace jumok
