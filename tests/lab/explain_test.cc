// Step by step through a tiny model that reverses digit strings.
#include "lab/explain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

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
  std::string texts;
  for (const std::string& text : report.sections[0].texts) texts += text + "\n";
  for (const char* part : {"q (1) = (", "q (2) = (", "c (1) = (", "c (2) = ("}) EXPECT_NE(texts.find(part), std::string::npos) << texts;
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

// A model of first values in `folder`, with the vocabulary of the digits or of the words of `text`.
ExplainOptions untrained(const std::filesystem::path& folder, const std::string& preset, const std::vector<std::string>& settings,
                         const std::vector<std::string>& text = {}) {
  ExplainOptions o = options({"5 8 0 1 7"});
  SubwordPair subwords = read_subwords(o.model);
  if (!text.empty()) {
    subwords.source = subwords.target =
        std::make_shared<const Subwords>(Subwords::train(text, {.kind = SubwordKind::kWord, .vocabulary = 6}));
  }
  ModelConfig config = model_preset(preset);
  for (const std::string& s : settings) model_settings(config).set_assignment(s, preset);
  config.source_vocabulary = config.target_vocabulary = subwords.source->size();
  const auto model = make_model(config);
  std::vector<float> block(static_cast<size_t>(model->layout().size()));
  model->layout().initialise(block.data(), 1);
  write_config(folder, config, subwords, {});
  write_parameters(folder / "model.safetensors", model->layout(), block.data());
  o.model = folder;
  return o;
}

// Luong 2015, eq. 10: softmax over the window, times exp(-(s - p)² / 2σ²), σ = D / 2, not made to sum to 1 again.
TEST(Explain, TheGaussianOfLocalAttentionIsShownWithItsCentre) {
  const ScratchFolder folder;
  ExplainOptions o =
      untrained(folder.path(), "rnn-luong-general", {"model.width=16", "attention.window=local-p", "attention.half-width=2"});
  o.target = "1 0 8 5";
  o.symbol = "8";
  const ExplainResult r = run_explain(o);
  const ExplainedQuery& q = r.queries[0].front();
  ASSERT_TRUE(q.centre.has_value());
  EXPECT_EQ(q.sigma, 1);
  double sum = 0;
  for (const double e : q.scores) sum += std::exp(e);
  for (size_t j = 0; j < q.scores.size(); ++j) {
    const double away = static_cast<double>(j) - *q.centre;
    EXPECT_EQ(std::isinf(q.scores[j]), std::abs(away) > 2) << j;
    EXPECT_NEAR(q.weights[j], std::exp(q.scores[j]) / sum * std::exp(-away * away / 2), 1e-5) << j;
  }
  EXPECT_TRUE(std::any_of(q.scores.begin(), q.scores.end(), [](double e) { return std::isinf(e); }));
  const std::string text = lab_text(report_of(r));
  EXPECT_NE(text.find("exp(−(j − p)² / 2σ²), σ = 1"), std::string::npos) << text;
  EXPECT_NE(report_of(r).sections[0].texts[0].find("Predicted centre p = "), std::string::npos);
  const auto json = to_json(r)["sentences"][0]["queries"][0];
  EXPECT_EQ(json["centre"].get<float>(), *q.centre);
}

TEST(Explain, KeysOutsideTheWindowAreBlocked) {
  const ScratchFolder folder;
  ExplainOptions o = untrained(folder.path(), "rnn-luong-dot", {"model.width=16", "attention.window=local-m", "attention.half-width=1"});
  o.target = "1 0 8 5";
  o.symbol = "8";  // position 2: keys 1 to 3
  const ExplainResult r = run_explain(o);
  const ExplainedQuery& q = r.queries[0].front();
  for (size_t j = 0; j < q.scores.size(); ++j) EXPECT_EQ(std::isinf(q.scores[j]), j < 1 || j > 3) << j;
}

// "10" holds "0" and stands before it.
TEST(Explain, AWholeSymbolIsFollowedBeforeOneThatHoldsTheText) {
  const ScratchFolder folder;
  ExplainOptions o = untrained(folder.path(), "rnn-luong-dot", {"model.width=8"}, {"10 5 0", "0 5 10"});
  o.sources = {"5"};
  o.target = "10 5 0";
  for (const char* symbol : {"0", "▁0"}) {
    o.symbol = symbol;
    EXPECT_EQ(run_explain(o).queries[0].front().symbol, "▁0");
  }
  o.symbol = "1";
  EXPECT_EQ(run_explain(o).queries[0].front().symbol, "▁10");
}

// A language model reads one text; each symbol sees the start and those before it.
TEST(Explain, OfALanguageModelTheTextItselfIsExplained) {
  ExplainOptions o = options({"3 1 4", "3 1 5"});
  o.model = o.model.parent_path() / "repeat-digits";
  const ExplainResult r = run_explain(o);
  ASSERT_EQ(r.sentences.size(), 2u);
  EXPECT_EQ(r.sentences[0].target_symbols, (std::vector<std::string>{"▁3", "▁1", "▁4", "</s>"}));
  ASSERT_FALSE(r.queries[0].empty());
  const ExplainedQuery& q = r.queries[0].front();
  EXPECT_EQ(q.keys, (std::vector<std::string>{"<s>", "▁3", "▁1", "▁4"}));
  EXPECT_TRUE(std::isinf(q.scores.back()));
  EXPECT_NE(q.allowed.find("keys 0 to 2 of 4"), std::string::npos) << q.allowed;
  EXPECT_EQ(report_of(r).question, "\"3 1 4\"; \"3 1 5\"");
  o.target = "3";
  EXPECT_NE(message(o).find("a language model reads one text"), std::string::npos);
}

TEST(Explain, TheFormulasAreThoseOfTheModelsOwnProjections) {
  const ScratchFolder folder, other;
  ExplainOptions o = untrained(folder.path(), "rnn-bahdanau", {"model.width=8"});
  o.target = "1";
  EXPECT_EQ(run_explain(o).queries[0].front().formulas,
            (std::vector<std::string>{"q = W_a s_{t−1}        k_j = U_a h_j        v_j = h_j", "e_j = v·tanh(q + k_j)",
                                      "α = softmax(e) over the keys allowed", "c = Σ_j α_j v_j"}));
  o = untrained(other.path(), "transformer-tiny",
                {"model.width=16", "attention.heads=4", "attention.scale=false", "attention.project-value=false"});
  o.target = "1";
  o.attention = "decoder.layers.0.cross_attention";
  EXPECT_EQ(run_explain(o).queries[0].front().formulas,
            (std::vector<std::string>{"q = W_Q x_i + b        k_j = W_K y_j + b        v_j = y_j", "e_j = q·k_j",
                                      "α = softmax(e) over the keys allowed", "c = Σ_j α_j v_j", "output = W_O [c of every head] + b"}));
}

// A recurrent model has no last position: 20 000² weights would take 1.6 GB, and their scores in double precision twice as much.
TEST(Explain, ASentenceWhoseWeightsNoMemoryIsKeptForIsRefused) {
  const ScratchFolder folder;
  ExplainOptions o = untrained(folder.path(), "rnn-luong-dot", {"model.width=8"});
  o.sources = {"5"};
  o.target = "5";
  EXPECT_EQ(message(o), "accepted");
  for (int i = 1; i < 20000; ++i) o.target += " 5";
  EXPECT_EQ(message(o), "source 1: 1 symbols, 20000 of its translation: memory is kept for the weights of 16383");
}

}  // namespace
}  // namespace jumok
