// One piece of work on the caller's thread and some others, started for it alone: the parallelism of the attention library.
#pragma once

#include <cstdint>
#include <functional>

namespace jumok {

// Calls task(i, thread) once for each i in [0, tasks) and returns when all are done. Thread 0 is the caller, 1 … threads - 1 (no more than
// there are tasks) are started and end here; they inherit the caller's floating-point mode. Tasks are handed out in rising order, several
// at a time while many are left. After an exception nothing more is handed out; when what runs has ended, the exception of the lowest
// failed task is rethrown. Throws Error where the system refuses a thread. threads >= 1.
void run_tasks(int64_t tasks, int threads, const std::function<void(int64_t task, int thread)>& task);

}  // namespace jumok
