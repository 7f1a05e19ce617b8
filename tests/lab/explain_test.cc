// Step by step through a tiny model that reverses digit strings.
#include "lab/explain.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "lab/trained.h"
#include "models/model_files.h"

namespace jumok {
namespace {

ExplainOptions options(std::vector<std::string> sources) {
  ExplainOptions o;
  o.model = std::filesystem::path(JUMOK_TEST_DATA).parent_path().parent_path() / "translate/data/reverse-digits";
  o.sources = std::move(sources);
  o.run.threads = 1;
  return o;
}

std::string message(const ExplainOptions& o) {
  try {
    run_explain(o);
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Explain, TheWeightsShownAreTheSoftmaxOfTheScoresShown) {
  const ExplainResult r = run_explain(options({"5 8 0 1"}));
  ASSERT_EQ(r.sentences.size(), 1u);
  EXPECT_EQ(r.sentences[0].target, "1 0 8 5");
  ASSERT_FALSE(r.queries[0].empty());
  for (const ExplainedQuery& q : r.queries[0]) {
    SCOPED_TRACE(q.attention);
    double sum = 0;
    for (const double e : q.scores) sum += std::exp(e);
    ASSERT_EQ(q.scores.size(), q.keys.size());
    for (size_t j = 0; j < q.scores.size(); ++j) EXPECT_NEAR(q.weights[j], std::exp(q.scores[j]) / sum, 1e-5);
    EXPECT_FALSE(q.query.empty());
    EXPECT_FALSE(q.mixed.empty());
  }
}

TEST(Explain, WhatTheDecoderHasNotSaidYetIsBlocked) {
  const ExplainResult r = run_explain(options({"5 8 0 1"}));
  for (const ExplainedQuery& q : r.queries[0]) {
    const bool masked = q.attention.find("decoder") == 0 && q.attention.find("self_attention") != std::string::npos;
    EXPECT_EQ(std::isinf(q.scores.back()), masked) << q.attention;  // the query is the last but one, so only the last key is ahead of it
  }
}

TEST(Explain, TwoSentencesStandSideBySideAndAgreeWhereTheyAreTheSame) {
  const ExplainResult same = run_explain(options({"5 8 0 1", "5 8 0 1"}));
  for (size_t i = 0; i < same.queries[0].size(); ++i) EXPECT_EQ(same.queries[0][i].weights, same.queries[1][i].weights);
  const LabReport report = report_of(run_explain(options({"5 8 0 1", "5 8 0 2"})));
  ASSERT_FALSE(report.sections.empty());
  EXPECT_EQ(report.sections[0].tables[0].header.size(), 7u);
}

TEST(Explain, WhatTheModelHasNoPositionsForIsRefusedInOneLine) {
  std::string digits = "5";
  for (int i = 1; i < 2000; ++i) digits += " 5";
  EXPECT_NE(message(options({digits})).find("source of 2000 symbols: the model takes "), std::string::npos) << message(options({digits}));
  ExplainOptions o = options({"5"});
  o.target = digits;
  EXPECT_NE(message(o).find("target of 2000 symbols: the model takes "), std::string::npos) << message(o);
}

TEST(Explain, WhatTheModelDoesNotHaveIsSaidInOneLine) {
  ExplainOptions o = options({"5 8 0 1"});
  o.attention = "encoder.layers.9.self_attention";
  EXPECT_NE(message(o).find("encoder.layers.9"), std::string::npos);
  o = options({"5 8 0 1"});
  o.head = 64;
  EXPECT_NE(message(o).find("head 64"), std::string::npos);
  o = options({"5 8 0 1"});
  o.symbol = "seven";
  EXPECT_NE(message(o).find("seven"), std::string::npos);
  EXPECT_NE(message(options({})).find("found 0"), std::string::npos);
  EXPECT_NE(message(options({" "})).find("expected a sentence"), std::string::npos);
}

// A recurrent model has no last position: 20 000² weights would take 1.6 GB, and their scores in double precision twice as much.
TEST(Explain, ASentenceWhoseWeightsNoMemoryIsKeptForIsRefused) {
  const ScratchFolder folder;
  ExplainOptions o = options({"5"});
  std::filesystem::copy_file(o.model / "joint.spm", folder.path() / "joint.spm");
  const SubwordPair subwords = read_subwords(o.model);
  ModelConfig config = model_preset("rnn-luong-dot");
  config.width = 8;
  config.source_vocabulary = config.target_vocabulary = subwords.source->size();
  const auto model = make_model(config);
  std::vector<float> block(model->layout().size());
  model->layout().initialise(block.data(), 1);
  write_config(folder.path(), config, subwords, {});
  write_parameters(folder.path() / "model.safetensors", model->layout(), block.data());
  o.model = folder.path();
  o.target = "5";
  EXPECT_EQ(message(o), "accepted");
  for (int i = 1; i < 20000; ++i) o.target += " 5";
  EXPECT_EQ(message(o), "source 1: 1 symbols, 20000 of its translation: memory is kept for the weights of 16383");
}

}  // namespace
}  // namespace jumok
