#include "base/parallel.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/error.h"

namespace jumok {
namespace {

class Deal {
 public:
  Deal(int64_t tasks, int threads, const std::function<void(int64_t, int)>& task)
      : tasks_(tasks), shares_(int64_t{4} * threads), task_(task), failed_(tasks) {}

  // Takes tasks until none is left.
  void work(int thread) {
    for (;;) {
      int64_t i, end;
      {
        std::lock_guard lock(mutex_);
        if (next_ >= tasks_) return;
        i = next_;
        end = i + std::max<int64_t>(1, (tasks_ - i) / shares_);
        next_ = end;
      }
      try {
        for (; i < end; ++i) task_(i, thread);
      } catch (...) {
        fail_at(i);
      }
    }
  }

  void stop() {
    std::lock_guard lock(mutex_);
    next_ = tasks_;
  }

  // Once no thread works any more.
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  // Every task below this one was handed out before it, and goes on: the lowest that fails is the same in every run.
  void fail_at(int64_t i) {
    std::lock_guard lock(mutex_);
    if (i < failed_) {
      failed_ = i;
      error_ = std::current_exception();
    }
    next_ = tasks_;
  }

  const int64_t tasks_, shares_;  // one share of what is left is handed out at a time
  const std::function<void(int64_t, int)>& task_;
  std::mutex mutex_;
  int64_t next_ = 0, failed_;
  std::exception_ptr error_;
};

}  // namespace

void run_tasks(int64_t tasks, int threads, const std::function<void(int64_t task, int thread)>& task) {
  threads = static_cast<int>(std::clamp<int64_t>(tasks, 1, threads));
  Deal deal(tasks, threads, task);
  {
    std::vector<std::jthread> others;  // joined at the end of this block
    try {
      for (int thread = 1; thread < threads; ++thread) others.emplace_back([&deal, thread] { deal.work(thread); });
    } catch (const std::system_error& error) {
      deal.stop();
      fail("expected {} threads, found {} before the system refused: {}", threads, others.size() + 1, error.what());
    }
    deal.work(0);
  }
  deal.rethrow();
}

}  // namespace jumok
