// The tape: backward steps of the ops, run in reverse order.
#pragma once

#include <functional>
#include <vector>

namespace jumok {

class Tape {
 public:
  // `step` reads the gradients of its op's outputs and adds to those of its inputs. It is skipped by itself when no output got a gradient.
  void record(std::function<void()> step) { steps_.push_back(std::move(step)); }

  // Runs all steps, last first, and forgets them.
  void backward() {
    while (!steps_.empty()) {
      steps_.back()();
      steps_.pop_back();
    }
  }
  void clear() { steps_.clear(); }

 private:
  std::vector<std::function<void()>> steps_;
};

}  // namespace jumok
