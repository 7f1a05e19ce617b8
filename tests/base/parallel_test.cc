#include "base/parallel.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"

namespace jumok {
namespace {

std::string error_of(int64_t tasks, int threads, const std::function<void(int64_t, int)>& task) {
  try {
    run_tasks(tasks, threads, task);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(RunTasks, EveryTaskRunsOnceWhateverTheNumberOfThreads) {
  for (const int64_t tasks : {0, 1, 2, 7, 100, 5000}) {
    for (const int threads : {1, 2, 5}) {
      std::vector<std::atomic<int>> count(static_cast<size_t>(tasks));
      std::atomic<int> strangers = 0;
      run_tasks(tasks, threads, [&](int64_t i, int thread) {
        count[static_cast<size_t>(i)] += 1;
        strangers += thread < 0 || thread >= threads;
      });
      EXPECT_EQ(strangers, 0);
      for (const auto& n : count) ASSERT_EQ(n, 1) << tasks << " tasks, " << threads << " threads";
    }
  }
}

TEST(RunTasks, TheCallerIsThreadZeroAndAloneWorksInOrder) {
  const auto caller = std::this_thread::get_id();
  std::atomic<int> elsewhere = 0;
  run_tasks(200, 3, [&](int64_t, int thread) { elsewhere += (thread == 0) != (std::this_thread::get_id() == caller); });
  EXPECT_EQ(elsewhere, 0);
  std::vector<int64_t> order;
  run_tasks(40, 1, [&](int64_t i, int) { order.push_back(i); });
  for (int64_t i = 0; i < 40; ++i) ASSERT_EQ(order[static_cast<size_t>(i)], i);
}

TEST(RunTasks, OfSeveralFailuresTheLowestIsReportedWhoeverIsFaster) {
  for (int round = 0; round < 20; ++round) {
    const auto task = [](int64_t i, int) {
      if (i == 3) std::this_thread::sleep_for(std::chrono::milliseconds(2));  // later tasks fail first
      if (i >= 3) fail("task {}", i);
    };
    ASSERT_EQ(error_of(400, 2, task), "task 3");
  }
}

TEST(RunTasks, AfterAFailureLittleIsHandedOutAndTheRestEnds) {
  std::atomic<int> ended = 0;
  const auto task = [&](int64_t i, int) {
    if (i == 0) fail("stop");
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    ++ended;
  };
  EXPECT_EQ(error_of(10000, 2, task), "stop");
  EXPECT_LT(ended, 5000);
}

#if !defined(__SANITIZE_ADDRESS__)
// In a process of its own, for the limit on memory stays.
TEST(RunTasksDeathTest, ASystemThatRefusesThreadsIsAnErrorNotAnAbort) {
  const auto attempt = [] {
    const rlimit limit{size_t{512} << 20, size_t{512} << 20};
    setrlimit(RLIMIT_AS, &limit);
    const auto task = [](int64_t, int) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
    const std::string error = error_of(4000, 4000, task);
    std::_Exit(error.find("the system refused") == std::string::npos ? 0 : 7);
  };
  EXPECT_EXIT(attempt(), testing::ExitedWithCode(7), "");
}
#endif

}  // namespace
}  // namespace jumok
