// A fixed set of threads that run numbered tasks: the parallelism of lanes (training) and batches (translation).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace jumok {

// run(n, task) calls task(i, worker) once for each i in [0, n) on size() threads and returns when all are done. The caller only waits, so
// that its floating-point mode and OpenMP settings are never touched. Tasks are handed out in rising order. After an exception no further
// task is handed out; when the running ones have ended, the exception of the lowest failed task is rethrown to the caller.
class Workers {
 public:
  // `start` runs once on each new thread before its first task (each worker sets its own OpenMP count there). At least one thread.
  explicit Workers(int threads, std::function<void()> start = {});
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  int size() const { return static_cast<int>(threads_.size()); }
  void run(int tasks, const std::function<void(int task, int worker)>& task);

 private:
  void stop();
  void loop(int worker);
  void work(int worker);

  std::vector<std::thread> threads_;
  std::function<void()> start_;
  std::mutex mutex_;
  std::condition_variable begin_, end_;
  const std::function<void(int, int)>* task_ = nullptr;  // of the running round; null between rounds
  int next_ = 0, tasks_ = 0, busy_ = 0;
  uint64_t round_ = 0;
  bool stop_ = false;
  std::exception_ptr error_;
  int error_task_ = 0;
};

// `asked`, or one a core where that is 0. Throws Error below 0.
int threads_or_cores(int asked);

}  // namespace jumok
