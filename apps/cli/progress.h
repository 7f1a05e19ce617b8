// How far long work is: a bar with rate and time left on a terminal, plain lines now and then anywhere else. All of it on standard error.
//   train    ▕██████████▌              ▏  42%  1234/2900 updates  3.4 updates/s  8:10 left  loss 3.21
#pragma once

#include <chrono>
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>

namespace jumok {

struct ProgressOptions {
  std::string label;         // what runs: "train", "translate"
  double total = 0;          // the amount of work in `unit`s; 0 when not known: no bar and no time left then, only count and rate
  std::string unit;          // "lines", "updates"; empty: shares of `total` only, no count and no rate
  double bar_seconds = 0.1;  // on a terminal, redrawn at most this often
  double line_seconds = 10;  // elsewhere, the first line after this time; later ones after a tenth of the time passed, if that is longer
  std::FILE* stream = stderr;
  bool quiet = false;  // show nothing at all; notes still appear
};

// Any thread may call any function. The bar is taken back off the line when the object goes, so an error text starts on a clean line.
class Progress {
 public:
  explicit Progress(ProgressOptions options);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Work is gone on with: what is `done` by now was done in an earlier run and does not count for rate and time left.
  void resume(double done);

  // `done` of `total` is finished; `text` follows the figures ("loss 3.21"). Cheap when it is too early to show anything.
  void update(double done, std::string_view text = {});

  // A line of its own (a warning, a validation result) above the bar.
  void note(std::string_view line);

  // Ends the display with one summary line: label, amount, time taken, rate, `text`.
  void finish(double done, std::string_view text = {});

 private:
  using Clock = std::chrono::steady_clock;
  double seconds() const;
  int width() const;  // cells of a line
  std::string figures(double done) const;
  void draw(std::string_view line);
  void clear();

  ProgressOptions options_;
  bool terminal_;
  Clock::time_point begin_ = Clock::now();
  double next_ = 0;    // seconds since begin_ of the next display
  double start_ = 0;   // what was done before
  std::string shown_;  // the line on the terminal now; empty: none
  std::mutex mutex_;
};

// Parts of the display, apart so that they can be tested.
// A bar of `cells` character cells, filled to `fraction` in eighths of a cell (U+2588…U+258F).
std::string progress_bar(double fraction, int cells);
// 0:07, 12:34, 3:05:00, "4 d 05 h".
std::string format_duration(double seconds);
// Three figures: 0.034, 3.41, 118, 12.3k, 4.56M.
std::string format_rate(double value);
// The longest beginning of `text` (UTF-8, one cell a code point) that fits in `cells`.
std::string_view fit_cells(std::string_view text, int cells);
// As many of the parts of a line, which two spaces or more separate, as fit; a first part that does not is cut.
std::string_view fit_parts(std::string_view text, int cells);
int cells_of(std::string_view text);

}  // namespace jumok
