#include "base/workers.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace jumok {

Workers::Workers(int threads, std::function<void()> start) : start_(std::move(start)) {
  try {
    threads_.reserve(static_cast<size_t>(std::max(threads, 1)));
    for (int worker = 0; worker < std::max(threads, 1); ++worker) threads_.emplace_back([this, worker] { loop(worker); });
  } catch (const std::system_error& error) {
    stop();
    fail("expected {} threads, found {} before the system refused: {}", threads, threads_.size(), error.what());
  } catch (...) {  // memory
    stop();
    throw;
  }
}

Workers::~Workers() { stop(); }

void Workers::stop() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  begin_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void Workers::run(int tasks, const std::function<void(int, int)>& task) {
  {
    std::lock_guard lock(mutex_);
    task_ = &task;
    next_ = 0;
    tasks_ = tasks;
    busy_ = size();
    error_ = nullptr;
    ++round_;
  }
  begin_.notify_all();
  std::unique_lock lock(mutex_);
  end_.wait(lock, [this] { return busy_ == 0; });
  task_ = nullptr;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Workers::loop(int worker) {
  if (start_) start_();
  uint64_t seen = 0;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      begin_.wait(lock, [&] { return stop_ || round_ != seen; });
      if (stop_) return;
      seen = round_;
    }
    work(worker);
  }
}

void Workers::work(int worker) {
  for (;;) {
    int index;
    {
      std::lock_guard lock(mutex_);
      if (next_ >= tasks_) {
        if (--busy_ == 0) end_.notify_all();
        return;
      }
      index = next_++;
    }
    try {
      (*task_)(index, worker);
    } catch (...) {
      std::lock_guard lock(mutex_);
      // Every task below this one was handed out before it: the lowest that fails is the same in every run, whoever is faster.
      if (!error_ || index < error_task_) {
        error_ = std::current_exception();
        error_task_ = index;
      }
      next_ = tasks_;
    }
  }
}

int threads_or_cores(int asked) {
  check(asked >= 0, "threads = {}: expected 0 (one a core) or more", asked);
  return asked > 0 ? asked : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace jumok
