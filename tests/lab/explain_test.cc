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
  o.targets = {digits};
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
  o.targets = {"1 0 8 5"};
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
  o.targets = {"1 0 8 5"};
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
  o.targets = {"10 5 0"};
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
  o.targets = {"3"};
  EXPECT_NE(message(o).find("a language model reads one text"), std::string::npos);
}

TEST(Explain, TheFormulasAreThoseOfTheModelsOwnProjections) {
  const ScratchFolder folder, other;
  ExplainOptions o = untrained(folder.path(), "rnn-bahdanau", {"model.width=8"});
  o.targets = {"1"};
  EXPECT_EQ(run_explain(o).queries[0].front().formulas,
            (std::vector<std::string>{"q = W_a s_{t−1}        k_j = U_a h_j        v_j = h_j", "e_j = v·tanh(q + k_j)",
                                      "α = softmax(e) over the keys allowed", "c = Σ_j α_j v_j",
                                      "t_t = the larger of each two of W [s_t; E y_{t−1}; c] + b"}));
  o = untrained(other.path(), "transformer-tiny",
                {"model.width=16", "attention.heads=4", "attention.scale=false", "attention.project-value=false"});
  o.targets = {"1"};
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
  o.targets = {"5"};
  EXPECT_EQ(message(o), "accepted");
  for (int i = 1; i < 20000; ++i) o.targets.front() += " 5";
  EXPECT_EQ(message(o), "source 1: 1 symbols, 20000 of its translation: memory is kept for the weights of 16383");
}

// A parameter of the model in `folder`, [rows, columns] without gaps.
NumberTable parameter(const std::filesystem::path& folder, const std::string& name) {
  const LoadedModel m = load_model(folder);
  Arena arena;
  const Context context{arena, m.parameters->data()};
  const auto& entries = m.model->layout().entries();
  const auto e = std::find_if(entries.begin(), entries.end(), [&](const auto& entry) { return entry.name == name; });
  NumberTable table(e->parameter.rows, e->parameter.columns);
  table.put(0, context.value(e->parameter), 0, table.rows);
  return table;
}

double product(const NumberTable& w, int64_t row, const std::vector<float>& x, int64_t first = 0) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += static_cast<double>(w.row(row)[first + static_cast<int64_t>(i)]) * x[i];
  return sum;
}

std::string all_texts(const LabReport& report) {
  std::string texts;
  for (const LabSection& section : report.sections) {
    for (const std::string& text : section.texts) texts += text + "\n";
  }
  return texts;
}

// Luong 2015, eq. 8: W_a h_t is the scores themselves, one for each position that W_a knows.
TEST(Explain, TheQueryOfTheLocationScoreIsTheStateAndNotTheScores) {
  const ScratchFolder folder;
  ExplainOptions o = untrained(folder.path(), "rnn-luong-location", {"model.width=16", "attention.positions=3"});
  o.targets = {"1 0 8 5"};
  const ExplainResult r = run_explain(o);
  const ExplainedQuery& q = r.queries[0].front();
  ASSERT_EQ(q.query.size(), 16u);
  const NumberTable w = parameter(o.model, "decoder.attention.location.weight");
  for (int64_t j = 0; j < 3; ++j) EXPECT_NEAR(product(w, j, q.query), q.scores[static_cast<size_t>(j)], 1e-5) << j;
  EXPECT_EQ(q.formulas[1], "e_j = (W_a q)_j");
  EXPECT_EQ(q.allowed, "keys 0 to 2 of 6: the rest lies beyond the 3 positions that the location score knows");
  for (size_t j = 0; j < q.keys.size(); ++j) EXPECT_EQ(std::isinf(q.scores[j]), j >= 3) << j;
  EXPECT_EQ(to_json(r)["sentences"][0]["queries"][0]["query"].size(), 16u);
}

TEST(Explain, OfALocationScoreInAWindowBothBoundsCount) {
  const ScratchFolder folder;
  ExplainOptions o = untrained(folder.path(), "rnn-luong-location",
                               {"model.width=16", "attention.positions=3", "attention.window=local-m", "attention.half-width=1"});
  o.targets = {"1 0 8 5"};
  const std::pair<const char*, const char*> expected[] = {
      {"1", "keys 0 to 1 of 6: the rest lies outside the window"},
      {"8", "keys 1 to 2 of 6: the rest lies outside the window or beyond the 3 positions that the location score knows"},
      {"</s>", "none: the window holds no key of the 3 positions that the location score knows"}};
  for (const auto& [symbol, allowed] : expected) {
    o.symbol = symbol;
    EXPECT_EQ(run_explain(o).queries[0].front().allowed, allowed) << symbol;
  }
}

TEST(Explain, AWindowEndsWithTheSentence) {
  const ScratchFolder folder;
  ExplainOptions o = untrained(folder.path(), "rnn-luong-dot", {"model.width=16", "attention.window=local-m", "attention.half-width=3"});
  o.sources = {"5 8"};
  o.targets = {"8 5"};
  o.symbol = "8";
  EXPECT_EQ(to_json(run_explain(o))["sentences"][0]["queries"][0]["allowed"], "all 3 keys: the window holds the whole sentence");
  o.sources = {"5 8 0 1 7"};
  o.targets = {"7 1 0 8 5"};
  o.symbol = "5";  // position 4: keys 1 to 7, of which the sentence has 5
  EXPECT_EQ(run_explain(o).queries[0].front().allowed, "keys 1 to 5 of 6: the rest lies outside the window");
}

// Vaswani 2017 §3.2.2 in a recurrent decoder: W_O, without a bias, over the heads side by side.
TEST(Explain, TheOutputOfRecurrentHeadsIsShown) {
  const ScratchFolder folder;
  ExplainOptions o = untrained(folder.path(), "rnn-bahdanau", {"model.width=16", "attention.score=multi-head", "attention.heads=2"});
  o.targets = {"1 0 8 5"};
  const ExplainResult r = run_explain(o);
  ASSERT_EQ(r.queries[0].size(), 2u);
  std::vector<float> heads = r.queries[0][0].mixed;
  heads.insert(heads.end(), r.queries[0][1].mixed.begin(), r.queries[0][1].mixed.end());
  const NumberTable w = parameter(o.model, "decoder.attention.output.weight");
  const std::vector<float>& output = r.queries[0][1].output;
  ASSERT_EQ(output.size(), 16u);
  for (int64_t i = 0; i < 16; ++i) EXPECT_NEAR(product(w, i, heads), output[static_cast<size_t>(i)], 1e-5) << i;
  const std::vector<std::string>& formulas = r.queries[0][0].formulas;
  EXPECT_EQ(std::count(formulas.begin(), formulas.end(), "output = W_O [c of every head]"), 1);
  EXPECT_NE(all_texts(report_of(r)).find("All heads: W_O [c_1; …] = ("), std::string::npos);
  o.head = 0;  // what comes of all heads is there whichever is shown
  EXPECT_NE(all_texts(report_of(run_explain(o))).find("All heads: W_O [c_1; …] = ("), std::string::npos);
}

TEST(Explain, TheCentreIsPredictedFromTheStateThatAsks) {
  for (const auto& [preset, state] : {std::pair("rnn-bahdanau", "s_{t−1}"), std::pair("rnn-luong-dot", "h_t")}) {
    const ScratchFolder folder;
    const ExplainOptions o = untrained(folder.path(), preset, {"model.width=16", "attention.window=local-p"});
    EXPECT_EQ(run_explain(o).queries[0].front().formulas[2], "p = S·sigmoid(v_p·tanh(W_p " + std::string(state) + "))");
  }
}

// Luong 2015, eq. 5, h̃_t = tanh(W_c [c_t; h_t]); the columns of h_t stand first in the file. The dot score asks with h_t itself.
TEST(Explain, TheAttentionalVectorIsThatOfStateAndContext) {
  for (const char* feeding : {"decoder.input-feeding=false", "decoder.input-feeding=true"}) {
    const ScratchFolder folder;
    ExplainOptions o = untrained(folder.path(), "rnn-luong-dot", {"model.width=16", feeding});
    o.targets = {"1 0 8 5"};
    const ExplainResult r = run_explain(o);
    const ExplainedQuery& q = r.queries[0].front();
    EXPECT_EQ(q.formulas.back(), "h̃_t = tanh(W_c [c; h_t] + b)");
    const NumberTable w = parameter(o.model, "decoder.readout.weight"), b = parameter(o.model, "decoder.readout.bias");
    ASSERT_EQ(q.readout.size(), 16u);
    for (int64_t i = 0; i < 16; ++i) {
      const double sum = product(w, i, q.query) + product(w, i, q.mixed, 16) + b.numbers[static_cast<size_t>(i)];
      EXPECT_NEAR(std::tanh(sum), q.readout[static_cast<size_t>(i)], 1e-5) << i;
    }
    EXPECT_NE(all_texts(report_of(r)).find("To the output layer: h̃_t = ("), std::string::npos);
  }
}

// The decoder is run a second time for what its attention does not tell; both must be the same run.
TEST(Explain, TheDecoderThatIsLookedIntoIsTheOneThatAttended) {
  for (const char* preset : {"rnn-luong-dot", "rnn-bahdanau"}) {
    const ScratchFolder folder;
    ExplainOptions o = untrained(folder.path(), preset, {"model.width=16", "decoder.layers=2", "encoder.layers=2"});
    o.targets = {"1 0 8 5"};
    const ExplainedSentence s = run_explain(o).sentences.front();
    const AttentionParts& p = s.maps.front().parts.front();
    ASSERT_EQ(s.decoder.asking.rows, p.query.rows);
    const bool projected = preset == std::string("rnn-bahdanau");
    const NumberTable w = projected ? parameter(o.model, "decoder.attention.query.weight") : NumberTable();
    for (int64_t t = 0; t < p.query.rows; ++t) {
      const std::vector<float> state(s.decoder.asking.row(t), s.decoder.asking.row(t) + 16);
      for (int64_t i = 0; i < p.query.columns; ++i)
        EXPECT_NEAR(projected ? product(w, i, state) : state[static_cast<size_t>(i)], p.query.row(t)[i], 1e-5) << preset << t << i;
    }
  }
}

TEST(Explain, EachSourceHasItsOwnTargetOrBothHaveOne) {
  ExplainOptions o = options({"5 8 0 1", "5 8 0 2"});
  o.targets = {"1 0 8 5"};
  EXPECT_EQ(run_explain(o).sentences[1].target, "1 0 8 5");
  o.targets = {"1 0 8 5", "2 2"};
  EXPECT_EQ(run_explain(o).sentences[0].target, "1 0 8 5");
  EXPECT_EQ(run_explain(o).sentences[1].target, "2 2");
  o.targets = {"1", "2", "3"};
  EXPECT_EQ(message(o), "explain: expected no target, one, or one for each source, found 3 for 2");
  o.sources.pop_back();
  o.targets.pop_back();
  EXPECT_EQ(message(o), "explain: expected no target, one, or one for each source, found 2 for 1");
}

// The words that two sentences share face each other; another word's weight is no change.
TEST(Explain, AChangeIsThatOfOneAndTheSameWord) {
  ExplainResult r;
  r.sentences.resize(2);
  for (const std::vector<std::string>& keys :
       {std::vector<std::string>{"a", "dog", "runs", "</s>"}, std::vector<std::string>{"a", "big", "red", "dog", "ran", "</s>"}}) {
    ExplainedQuery q;
    q.attention = "decoder.attention";
    q.keys = keys;
    q.scores.assign(keys.size(), 0.0);
    for (size_t j = 0; j < keys.size(); ++j) q.weights.push_back(0.1f * static_cast<float>(j + 1) * static_cast<float>(keys.size() - 3));
    q.query = q.mixed = {1};
    r.queries.push_back({q});
  }
  const LabTable t = report_of(r).sections[0].tables[0];
  std::vector<std::vector<std::string>> seen;
  for (const auto& row : t.rows) seen.push_back({row[0], row[3], row[6]});
  // weights 0.1 0.2 0.3 0.4 and 0.3 0.6 0.9 1.2 1.5 1.8
  EXPECT_EQ(seen, (std::vector<std::vector<std::string>>{{"·a", "·a", "+0.200"},
                                                         {"", "·big", ""},
                                                         {"", "·red", ""},
                                                         {"·dog", "·dog", "+1.000"},
                                                         {"·runs", "·ran", ""},
                                                         {"</s>", "</s>", "+1.400"}}));
}

TEST(Explain, ThePageFramesTheRowThatIsExplained) {
  ExplainOptions o = options({"5 8 0 1", "8 0 1"});
  o.symbol = "8";
  o.attention = "decoder.layers.0.cross_attention";
  o.head = 0;
  const LabReport report = report_of(run_explain(o));
  ASSERT_EQ(report.sections.front().figures.size(), 2u);
  for (const auto& figure : report.sections.front().figures) {
    EXPECT_NE(figure.svg.find("<rect class=\"mark\""), std::string::npos);
    const size_t label = figure.svg.find("class=\"word on\"");
    ASSERT_NE(label, std::string::npos);
    EXPECT_EQ(figure.svg.substr(figure.svg.find('>', label) + 1, 2), "8<");
  }
}

}  // namespace
}  // namespace jumok
