#include "base/queued_log.h"

#include <exception>

namespace jumok {

void QueuedLog::warn(std::string text) {
  if (!sink_) return;
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(text));
}

QueuedLog::Delivery::~Delivery() noexcept(false) {
  const bool unwinding = std::uncaught_exceptions() > 0;
  try {
    log_.deliver();
  } catch (...) {
    if (!unwinding) throw;  // two exceptions at once would end the program
  }
}

void QueuedLog::deliver() {
  std::unique_lock lock(mutex_);
  if (delivering_) return;
  while (!waiting_.empty()) {
    const std::string text = std::move(waiting_.front());
    waiting_.pop_front();
    delivering_ = true;
    lock.unlock();
    try {
      sink_(LogLevel::kWarning, text);
    } catch (...) {
      lock.lock();
      delivering_ = false;
      throw;
    }
    lock.lock();
    delivering_ = false;
  }
}

}  // namespace jumok
