// sacreBLEU's own numbers for hostile text (data/golden.json, made by make_golden.py).
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "jumok/metrics.h"
#include "metrics/tokenizers.h"
#include "text/python_text.h"
#include "text/unicode.h"

namespace jumok {
namespace {

using nlohmann::json;

constexpr double kTolerance = 1e-9;  // of scores from 0 to 100; the order of summation is all that may differ

const json& golden() {
  static const json data = json::parse(std::ifstream(JUMOK_TEST_DATA "/golden.json"));
  return data;
}

// sacreBLEU's signature with our version.
std::string ours(const std::string& signature) { return signature.substr(0, signature.rfind(':')) + ":jumok-0.1.0"; }

Smoothing smoothing_of(const json& options) {
  const auto name = options.value("smooth_method", "exp");
  return name == "none" ? Smoothing::kNone : name == "floor" ? Smoothing::kFloor : name == "add-k" ? Smoothing::kAddK : Smoothing::kExp;
}

MetricOptions bleu_options(const json& options) {
  MetricOptions out;
  out.tokenizer = parse_tokenizer(options.at("tokenize").get<std::string>());
  out.lowercase = options.value("lowercase", false);
  out.smoothing = smoothing_of(options);
  if (options.contains("smooth_value") && !options.at("smooth_value").is_null())
    out.smooth_value = options.at("smooth_value").get<double>();
  return out;
}

MetricOptions chrf_options(const json& options) {
  MetricOptions out;
  out.char_order = options.value("char_order", 6);
  out.word_order = options.value("word_order", 0);
  out.beta = options.value("beta", 2);
  out.chrf_lowercase = options.value("lowercase", false);
  return out;
}

void expect_bleu(const json& expected, const std::vector<std::string>& hypotheses, const std::vector<std::string>& references) {
  const auto found = bleu(hypotheses, references, bleu_options(expected.at("options")));
  EXPECT_NEAR(found.score, expected.at("score"), kTolerance);
  EXPECT_NEAR(found.brevity_penalty, expected.at("bp"), kTolerance);
  EXPECT_NEAR(found.ratio, expected.at("ratio"), kTolerance);
  EXPECT_EQ(found.hypothesis_length, expected.at("sys_len"));
  EXPECT_EQ(found.reference_length, expected.at("ref_len"));
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(found.precisions[i], expected.at("precisions")[i], kTolerance);
  if (!expected.at("counts").is_null()) {
    EXPECT_EQ(json(found.matches), expected.at("counts"));
  }
  EXPECT_EQ(found.signature, ours(expected.at("signature")));
  EXPECT_EQ(to_string(found), expected.at("text"));
}

TEST(Golden, CorpusBleuEqualsSacrebleuForEveryTokenizerCaseAndSmoothing) {
  for (const auto& corpus : golden().at("corpora")) {
    const std::vector<std::string> hypotheses = corpus.at("hypotheses"), references = corpus.at("references");
    for (const auto& expected : corpus.at("bleu")) {
      SCOPED_TRACE(corpus.at("name").get<std::string>() + " " + expected.at("options").dump());
      expect_bleu(expected, hypotheses, references);
    }
  }
}

TEST(Golden, ChrfAndChrfPlusPlusEqualSacrebleu) {
  for (const auto& corpus : golden().at("corpora")) {
    for (const auto& expected : corpus.at("chrf")) {
      SCOPED_TRACE(corpus.at("name").get<std::string>() + " " + expected.at("options").dump());
      const auto found = chrf(corpus.at("hypotheses"), corpus.at("references"), chrf_options(expected.at("options")));
      EXPECT_NEAR(found.score, expected.at("score"), kTolerance);
      EXPECT_EQ(found.name, expected.at("name"));
      EXPECT_EQ(found.signature, ours(expected.at("signature")));
      EXPECT_EQ(to_string(found), expected.at("text"));
    }
  }
}

TEST(Golden, SentenceBleuEqualsSacrebleuWithEffectiveOrder) {
  for (const auto& expected : golden().at("sentences")) {
    SCOPED_TRACE(expected.dump());
    const auto found = sentence_bleu(expected.at("hypothesis"), expected.at("reference"), bleu_options(expected));
    EXPECT_NEAR(found.score, expected.at("score"), kTolerance);
    EXPECT_EQ(found.signature, ours(expected.at("signature")));
  }
}

TEST(Golden, EveryTokenizerCutsTheWordsOfSacrebleu) {
  for (const auto& expected : golden().at("tokens")) {
    const auto text = code_points(expected.at("text").get<std::string>());
    for (const auto* name : {"13a", "char", "none", "intl", "zh"}) {
      std::vector<std::string> words;
      const auto tokenized = metrics::tokenize(text, parse_tokenizer(name));
      for (const auto word : python::split(tokenized)) words.push_back(to_utf8(word));
      EXPECT_EQ(json(words), expected.at(name)) << name << " of " << expected.at("text");
    }
  }
}

TEST(Golden, LowerCaseIsPythonsWithDottedIAndFinalSigma) {
  for (const auto& expected : golden().at("tokens")) {
    EXPECT_EQ(to_utf8(python::lower(code_points(expected.at("text").get<std::string>()))), expected.at("lower"));
  }
}

}  // namespace
}  // namespace jumok
