#include "lab/worked_example.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace jumok {
namespace {

constexpr double kRounded = 0.0005;  // the values are given with three decimals

// it (0.60, 0.60), cat (0.80, 0.40), car (0.20, 0.95); W_Q = [[2, 0], [0, -2]], W_K = [[2, 0.3], [0, 1]]: worked out by hand.
TEST(WorkedExample, GivesTheValuesWorkedOutByHand) {
  const WorkedExampleResult r = run_worked_example(default_worked_example());
  EXPECT_NEAR(r.embedding_cosines[0][0], 0.949, kRounded);
  EXPECT_NEAR(r.embedding_cosines[0][1], 0.838, kRounded);
  EXPECT_NEAR(r.scores[0][0], 1.584, kRounded);
  EXPECT_NEAR(r.scores[0][1], -0.318, kRounded);
  EXPECT_NEAR(r.scaled_scores[0][0], 1.120, kRounded);
  EXPECT_NEAR(r.scaled_scores[0][1], -0.225, kRounded);
  EXPECT_NEAR(r.weights[0][0], 0.793, kRounded);
  EXPECT_NEAR(r.weights[0][1], 0.207, kRounded);
  EXPECT_NEAR(r.unscaled_weights[0][0], 0.870, kRounded);
  EXPECT_NEAR(r.unscaled_weights[0][1], 0.130, kRounded);
  EXPECT_NEAR(r.context[0][0], 0.676, kRounded);
  EXPECT_NEAR(r.context[0][1], 0.514, kRounded);
  EXPECT_NEAR(r.context_cosines[0][0], 0.983, kRounded);
}

// A matrix that acted on row vectors would give q(it) = (1.2, -1.2) too, but k(cat) = (1.6, 0.64).
TEST(WorkedExample, MatricesActOnColumnVectors) {
  const WorkedExampleResult r = run_worked_example(default_worked_example());
  EXPECT_NEAR(r.q[0][0], 1.2, 1e-6);
  EXPECT_NEAR(r.q[0][1], -1.2, 1e-6);
  EXPECT_NEAR(r.k[0][0], 1.72, 1e-6);
  EXPECT_NEAR(r.k[0][1], 0.40, 1e-6);
}

TEST(WorkedExample, AskingAndAnsweringDiffer) {
  const WorkedExampleResult r = run_worked_example(default_worked_example());
  EXPECT_NEAR(r.pair_scores[0][1], 1.584, kRounded);  // q(it)·k(cat)
  EXPECT_NEAR(r.pair_scores[1][0], 1.728, kRounded);  // q(cat)·k(it)
}

TEST(WorkedExample, TheFileSaysTheSameAsTheDefault) {
  const WorkedExample e = parse_worked_example(
      R"({"embeddings": {"it": [0.60, 0.60], "cat": [0.80, 0.40], "car": [0.20, 0.95]}, "queries": ["it"], "keys": ["cat", "car"],
          "w_q": [[2, 0], [0, -2]], "w_k": [[2, 0.3], [0, 1]]})",
      "x.json");
  const WorkedExample d = default_worked_example();
  EXPECT_EQ(e.words, d.words);
  EXPECT_EQ(e.embeddings, d.embeddings);
  EXPECT_EQ(e.queries, d.queries);
  EXPECT_EQ(e.keys, d.keys);
  EXPECT_EQ(e.query_matrix, d.query_matrix);
  EXPECT_EQ(e.key_matrix, d.key_matrix);
  EXPECT_EQ(e.value_matrix, d.value_matrix);  // left out: the identity
  EXPECT_FALSE(e.scale.has_value());
}

// e = (1, 2) · ln 3 · scale 0.5 … by hand: q = 1, k = (2 ln 3, 0), so the scaled scores are ln 3 and 0, the weights 3/4 and 1/4.
TEST(WorkedExample, OwnScaleAndMaskCount) {
  const std::string words =
      R"({"embeddings": {"a": [1], "b": [2.1972245773362196], "c": [0]}, "queries": ["a", "c"], "keys": ["b", "c"], "scale": 0.5)";
  const WorkedExampleResult r = run_worked_example(parse_worked_example(words + "}", "x"));
  EXPECT_NEAR(r.weights[0][0], 0.75, 1e-6);
  EXPECT_NEAR(r.unscaled_weights[0][0], 0.9, 1e-6);  // e^(2 ln 3) = 9 to 1
  EXPECT_NEAR(r.weights[1][0], 0.5, 1e-6);           // c asks with 0
  const WorkedExampleResult masked = run_worked_example(parse_worked_example(words + R"(, "mask": [[false, true], [false, false]]})", "x"));
  EXPECT_EQ(masked.weights[0], (std::vector<double>{0, 1}));
  EXPECT_EQ(masked.weights[1], (std::vector<double>{0, 0}));
  EXPECT_EQ(masked.context[1], std::vector<double>{0});
  EXPECT_TRUE(std::isinf(masked.scores[0][0]));
  EXPECT_TRUE(to_json(masked)["scores"][0][0].is_null());
}

std::string fault(const std::string& json) {
  try {
    parse_worked_example(json, "x.json");
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(WorkedExample, FaultsOfTheFileAreNamed) {
  EXPECT_EQ(fault("{"), "x.json: expected a JSON object");
  EXPECT_NE(fault("{\"embedding\": {}}").find("\"embedding\": expected one of embeddings, queries"), std::string::npos);
  EXPECT_NE(fault("{\"queries\": []}").find("expected \"embeddings\""), std::string::npos);
  EXPECT_NE(fault(R"({"embeddings": {"a": [1, 2], "b": [1]}})").find("embeddings.b: expected 2 numbers"), std::string::npos);
  EXPECT_NE(fault(R"({"embeddings": {"a": [1]}, "keys": ["b"]})").find("keys: expected words of \"embeddings\", found \"b\""),
            std::string::npos);
  EXPECT_NE(fault(R"({"embeddings": {"a": [1]}, "w_q": [[1, 2]]})").find("w_q, row 1: expected 1 numbers"), std::string::npos);
  EXPECT_NE(fault(R"({"embeddings": {"a": [1]}, "w_q": [[1], [2]]})").find("as many rows of w_q as of w_k, found 2 and 1"),
            std::string::npos);
  EXPECT_NE(fault(R"({"embeddings": {"a": [1]}, "mask": [[1]]})").find("mask: expected 1 rows of 1 true"), std::string::npos);
  EXPECT_NE(fault(R"({"embeddings": {"a": [1]}, "scale": "x"})").find("scale: expected a number"), std::string::npos);
}

TEST(WorkedExample, TheReportShowsTheHandWorkedValuesOnlyForTheDefault) {
  const std::string text = lab_text(report_of(run_worked_example(default_worked_example())));
  EXPECT_NE(text.find("q(cat)·k(it)"), std::string::npos);
  EXPECT_NE(text.find("1.728"), std::string::npos);
  WorkedExample other = default_worked_example();
  other.scale = 1;
  EXPECT_EQ(lab_text(report_of(run_worked_example(other))).find("Against the values"), std::string::npos);
}

}  // namespace
}  // namespace jumok
