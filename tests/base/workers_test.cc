#include "base/workers.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"

namespace jumok {
namespace {

std::string error_of(Workers& workers, int tasks, const std::function<void(int, int)>& task) {
  try {
    workers.run(tasks, task);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Workers, EveryTaskRunsOnceInManyRounds) {
  Workers workers(3);
  EXPECT_EQ(workers.size(), 3);
  for (int round = 0; round < 2000; ++round) {
    const int tasks = round % 11;
    std::vector<std::atomic<int>> count(11);
    workers.run(tasks, [&](int task, int worker) {
      count[static_cast<size_t>(task)] += 1;
      if (worker < 0 || worker >= 3) fail("worker {}", worker);
    });
    for (int i = 0; i < 11; ++i) ASSERT_EQ(count[static_cast<size_t>(i)], i < tasks ? 1 : 0) << round;
  }
}

TEST(Workers, OneThreadOrFewerIsOneWorkerInOrder) {
  for (const int threads : {1, 0, -3}) {
    Workers workers(threads);
    EXPECT_EQ(workers.size(), 1);
    std::vector<int> order;
    workers.run(5, [&](int task, int) { order.push_back(task); });
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
    workers.run(0, [](int, int) { FAIL(); });
    workers.run(-1, [](int, int) { FAIL(); });
  }
}

TEST(Workers, ExceptionsReachTheCallerAndTheWorkersGoOn) {
  Workers workers(2);
  for (int round = 0; round < 200; ++round) {
    EXPECT_EQ(error_of(workers, 8,
                       [](int task, int) {
                         if (task == 3) fail("task {}", task);
                       }),
              "task 3");
    std::atomic<int> sum = 0;
    EXPECT_EQ(error_of(workers, 8, [&](int task, int) { sum += task; }), "");
    EXPECT_EQ(sum, 28);
  }
}

TEST(Workers, OfSeveralFailuresTheLowestIsReportedWhoeverIsFaster) {
  Workers workers(2);
  for (int round = 0; round < 20; ++round) {
    const auto task = [](int index, int) {
      if (index == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));  // task 1 fails first
      fail("task {}", index);
    };
    ASSERT_EQ(error_of(workers, 2, task), "task 0");
  }
}

TEST(Workers, AfterAFailureNothingNewIsHandedOutAndTheRestEnds) {
  Workers workers(2);
  std::atomic<int> ended = 0, running = 0;
  EXPECT_EQ(error_of(workers, 1000,
                     [&](int task, int) {
                       ++running;
                       std::this_thread::sleep_for(std::chrono::microseconds(200));
                       --running;
                       ++ended;
                       if (task == 5) fail("stop");
                     }),
            "stop");
  EXPECT_EQ(running, 0);
  EXPECT_LT(ended, 900);  // some twenty, unless the system holds the failing thread up
}

TEST(Workers, OneThreadBeginsNothingAfterAFailure) {
  Workers workers(1);
  int ended = 0;
  EXPECT_EQ(error_of(workers, 1000,
                     [&](int task, int) {
                       if (task == 5) fail("stop");
                       ++ended;
                     }),
            "stop");
  EXPECT_EQ(ended, 5);
}

TEST(Workers, StartRunsOnceOnEachThreadBeforeItsFirstTask) {
  std::mutex mutex;
  std::set<std::thread::id> started, worked;
  {
    Workers workers(3, [&] {
      std::lock_guard lock(mutex);
      EXPECT_TRUE(started.insert(std::this_thread::get_id()).second);
    });
    for (int round = 0; round < 50; ++round) {
      workers.run(6, [&](int, int) {
        std::lock_guard lock(mutex);
        EXPECT_TRUE(started.contains(std::this_thread::get_id()));
        worked.insert(std::this_thread::get_id());
      });
    }
  }
  EXPECT_EQ(started.size(), 3u);
  EXPECT_FALSE(worked.contains(std::this_thread::get_id()));  // the caller only waits
}

TEST(Workers, UnusedWorkersEnd) {
  for (int i = 0; i < 50; ++i) Workers workers(4);
}

#if !defined(__SANITIZE_ADDRESS__)
// In a process of its own, for the limit on memory stays.
TEST(WorkersDeathTest, ASystemThatRefusesThreadsIsAnErrorNotAnAbort) {
  const auto attempt = [] {
    const rlimit limit{size_t{512} << 20, size_t{512} << 20};
    setrlimit(RLIMIT_AS, &limit);
    try {
      Workers workers(4000);
    } catch (const Error&) {
      std::_Exit(7);
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(attempt(), testing::ExitedWithCode(7), "");
}
#endif

}  // namespace
}  // namespace jumok
