// Where the time of a pass goes, op by op; off unless a Profile is handed in.
#pragma once

#include <array>
#include <chrono>

namespace jumok {

enum class Part { kProducts, kAttention, kOutputLoss, kNorm, kActivation, kEmbedding, kCount };
inline constexpr std::array<const char*, static_cast<size_t>(Part::kCount)> kPartNames = {
    "products", "attention", "output layer and loss", "layer norm", "activations", "embeddings"};

// Seconds by part, of one thread.
struct Profile {
  std::array<double, static_cast<size_t>(Part::kCount)> seconds{};
};

// Adds the time of its own life to one part; does nothing without a profile.
class TimedPart {
 public:
  TimedPart(Profile* profile, Part part) : profile_(profile), part_(part) {
    if (profile_ != nullptr) begin_ = Clock::now();
  }
  ~TimedPart() {
    if (profile_ != nullptr) profile_->seconds[static_cast<size_t>(part_)] += std::chrono::duration<double>(Clock::now() - begin_).count();
  }
  TimedPart(const TimedPart&) = delete;
  TimedPart& operator=(const TimedPart&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  Profile* profile_;
  Part part_;
  Clock::time_point begin_{};
};

}  // namespace jumok
