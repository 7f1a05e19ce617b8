// jumok bench: one object with rows, and bench/compare.py that reads two of them.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "program.h"

namespace jumok {
namespace {

const char* const kQuick[] = {"attention --lengths 16,70 --heads 2 --width 8 --cache 70 --threads 2 --seconds 0.001",
                              "attention --score additive --widths 8,16 --lengths 5 --seconds 0.001",
                              "gemm --presets transformer-tiny --rows 8 --step-rows 8 --vocabulary 16 --seconds 0.001",
                              "train --vocabulary 16 --set train.batch-tokens=64 --updates 3 --threads 1",
                              "translate --preset transformer-tiny --vocabulary 16 --sentences 1 --batches 2"};

TEST(Bench, EveryBenchmarkWritesOneObjectWithNamedRowsAndTheMachine) {
  for (const char* arguments : kQuick) {
    const Outcome o = run_jumok(std::string("bench ") + arguments + " --json");
    ASSERT_EQ(o.status, 0) << arguments << o.err;
    EXPECT_EQ(o.err, "");
    const auto j = nlohmann::json::parse(o.out);
    EXPECT_EQ(std::string(arguments).rfind(j["benchmark"].get<std::string>(), 0), 0u);
    EXPECT_TRUE(j["machine"]["processor"].is_string());
    EXPECT_GT(j["machine"]["fma_peak_gflops"], 0);
    EXPECT_GT(j["machine"]["exp_per_second"], 0);
    EXPECT_TRUE(j["settings"].is_object());
    std::set<std::string> names;
    for (const auto& row : j["rows"]) {
      EXPECT_TRUE(names.insert(row["row"]).second) << row["row"] << " twice";
      EXPECT_LE(row["seconds"]["lower"], row["seconds"]["median"]);
      EXPECT_GT(row["seconds"]["least"], 0) << row["row"];
      EXPECT_GE(row["seconds"]["runs"], 2);
      if (!row.contains("parts")) continue;
      for (const auto& part : row["parts"]) EXPECT_TRUE(part["seconds"].is_number());
      EXPECT_GT(row["parts"]["products"]["roof_seconds"], 0);
      EXPECT_TRUE(row["parts"]["waiting and the rest"]["roof_seconds"].is_null());
    }
    EXPECT_FALSE(names.empty());
  }
}

TEST(Bench, AnOptionOfTheOtherScoreIsWrongUsage) {
  EXPECT_EQ(run_jumok("bench attention --widths 8").status, 2);
  EXPECT_EQ(run_jumok("bench attention --score additive --window 8").status, 2);
  EXPECT_EQ(run_jumok("bench attention --rules full,wide").status, 2);
  EXPECT_EQ(run_jumok("bench gemm --presets rnn-bahdanau").status, 2);
}

TEST(Bench, ARowTwiceIsWrongUsage) {
  for (const char* option : {"--rules full,causal,full", "--lengths 16,16", "--score additive --widths 8,16,8"}) {
    const Outcome o = run_jumok(std::string("bench attention ") + option);
    EXPECT_EQ(o.status, 2) << option;
    EXPECT_NE(o.err.find("expected each value once"), std::string::npos) << o.err;
  }
}

TEST(Bench, RulesAndStepCanBeLeftOut) {
  const Outcome o = run_jumok("bench attention --rules window --lengths 128 --heads 1 --width 8 --cache 0 --seconds 0.001 --json");
  ASSERT_EQ(o.status, 0) << o.err;
  const auto j = nlohmann::json::parse(o.out);
  ASSERT_EQ(j["rows"].size(), 2u);
  EXPECT_EQ(j["rows"][0]["row"], "window forward 128");
  EXPECT_TRUE(j["rows"][0]["against_full"].is_null());
}

// ---- bench/compare.py ----

class BenchCompare : public ::testing::Test {
 protected:
  void SetUp() override {
    if (run_shell("python3 --version").status != 0) GTEST_SKIP() << "there is no python3 to run bench/compare.py";
  }
  // Rows by name: median, lower and upper quartile in milliseconds.
  using Rows = std::vector<std::pair<std::string, std::array<double, 3>>>;
  std::string write(const std::string& name, const Rows& rows, double peak = 100) {
    nlohmann::json j = {{"benchmark", "gemm"},
                        {"machine", {{"processor", "P"}, {"threads", 1}, {"fma_peak_gflops", peak}}},
                        {"settings", nlohmann::json::object()},
                        {"rows", nlohmann::json::array()}};
    for (const auto& [row, ms] : rows) {
      j["rows"].push_back({{"row", row}, {"seconds", {{"median", ms[0] / 1e3}, {"lower", ms[1] / 1e3}, {"upper", ms[2] / 1e3}}}});
    }
    std::ofstream(folder_ / name) << j;
    return "'" + (folder_ / name) + "'";
  }
  static Outcome compare(const std::string& files) { return run_shell("python3 '" JUMOK_BENCH "/compare.py' " + files); }
  TemporaryFolder folder_;
};

bool has_line(const std::string& text, const std::string& begin, const std::string& end) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(begin) && line.ends_with(end)) return true;
  }
  return false;
}

// 2 ms ± 0.1 against 3 ms ± 0.1: a ratio of 1.5, from 2.9/2.1 to 3.1/1.9. 2 ± 0.5 against 2.5 ± 0.5 overlap. 4 against 1: a quarter.
TEST_F(BenchCompare, RowsDifferWhenTheirQuartilesDoNotOverlap) {
  const std::string a = write("a.json", {{"up", {2, 1.9, 2.1}}, {"noisy", {2, 1.5, 2.5}}, {"down", {4, 3.9, 4.1}}, {"gone", {1, 1, 1}}});
  const std::string b = write("b.json", {{"up", {3, 2.9, 3.1}}, {"noisy", {2.5, 2, 3}}, {"down", {1, 0.9, 1.1}}, {"new", {1, 1, 1}}});
  const Outcome o = compare(a + " " + b);
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(has_line(o.out, "up", "1.500   1.381 to 1.632 slower")) << o.out;
  EXPECT_TRUE(has_line(o.out, "noisy", "1.250   0.800 to 2.000")) << o.out;
  EXPECT_TRUE(has_line(o.out, "down", "0.250   0.220 to 0.282 faster")) << o.out;
  EXPECT_TRUE(has_line(o.out, "gone", "only before")) << o.out;
  EXPECT_TRUE(has_line(o.out, "new", "only after")) << o.out;
  EXPECT_TRUE(has_line(o.out, "2 of 3 rows differ", "")) << o.out;
}

TEST_F(BenchCompare, AMachineThatChangedIsSaid) {
  const std::string a = write("a.json", {{"r", {1, 1, 1}}}), b = write("b.json", {{"r", {1, 1, 1}}}, 80);
  const Outcome o = compare(a + " " + b);
  EXPECT_NE(o.out.find("peak is 0.80"), std::string::npos) << o.out;
}

TEST_F(BenchCompare, WhatCannotBeComparedIsRefusedInOneLine) {
  const std::string a = write("a.json", {{"r", {1, 1, 1}}});
  std::ofstream(folder_ / "other.json") << R"({"benchmark": "train"})";
  std::ofstream(folder_ / "broken.json") << "{";
  std::ofstream(folder_ / "machine.json") << R"({"benchmark": "gemm", "machine": {}, "settings": {}, "rows": []})";
  for (const char* name : {"other.json", "broken.json", "machine.json", "none.json"}) {
    const Outcome o = compare(a + " '" + (folder_ / name) + "'");
    EXPECT_EQ(o.status, 2) << name;
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
    EXPECT_NE(o.err.find(name), std::string::npos) << o.err;
  }
  EXPECT_EQ(compare(a).status, 2);
}

TEST_F(BenchCompare, AResultOfTheProgramAgainstItselfDoesNotDiffer) {
  ASSERT_EQ(run_jumok(std::string("bench ") + kQuick[1] + " --json > '" + (folder_ / "a.json") + "'").status, 0);
  const Outcome o = compare("'" + (folder_ / "a.json") + "' '" + (folder_ / "a.json") + "'");
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(has_line(o.out, "0 of 4 rows differ", "")) << o.out;
}

}  // namespace
}  // namespace jumok
