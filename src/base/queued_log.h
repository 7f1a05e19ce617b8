// Messages that arise while a lock is held, given to the sink when it no longer is: a sink may call the object that speaks to it, and wait
// for other threads that do.
#pragma once

#include <deque>
#include <mutex>
#include <string>

#include "base/log.h"

namespace jumok {

class QueuedLog {
 public:
  explicit QueuedLog(LogSink sink) : sink_(std::move(sink)) {}

  // Any thread, under any lock.
  void warn(std::string text);

  // At the end of its life hands on what is queued, unless another thread is at it already, which then does. Declared before a lock it
  // ends after it:
  //   const QueuedLog::Delivery delivery(log);
  //   const std::lock_guard lock(mutex);
  class Delivery {
   public:
    explicit Delivery(QueuedLog& log) : log_(log) {}
    ~Delivery() noexcept(false);  // what the sink throws is passed on, but for another exception on its way
    Delivery(const Delivery&) = delete;
    Delivery& operator=(const Delivery&) = delete;

   private:
    QueuedLog& log_;
  };

 private:
  void deliver();

  LogSink sink_;
  std::mutex mutex_;
  std::deque<std::string> waiting_;
  bool delivering_ = false;  // some thread is inside the sink: one call at a time
};

}  // namespace jumok
