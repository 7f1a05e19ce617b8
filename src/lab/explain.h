// jumok lab explain: one sentence step by step through every attention of a model (query, scores, mask, softmax, mix, output), or two
// sentences side by side: what changes in the weights of "it" when the end of the sentence changes.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attention/attention_maps.h"
#include "lab/experiment.h"
#include "lab/explain_decoder.h"

namespace jumok {

struct ExplainOptions {
  std::filesystem::path model;
  std::vector<std::string> sources;  // one or two; of a language model texts
  // One for all sources, or one for each; none, or an empty one: the model's own greedy translation.
  std::vector<std::string> targets;
  std::string attention;  // the one attention to explain, by name; empty: all
  int head = -1;          // -1: all
  // The query to follow: the first symbol that is this text (at the beginning of a word or not), else the first that holds it. Empty: the
  // last row but one, which is the last symbol before the end symbol; in a decoder's self-attention, whose rows are the symbols fed, the
  // one before that.
  std::string symbol;
  LabRun run;
};

// One sentence with what its attentions did.
struct ExplainedSentence {
  std::string source, target;                               // target empty: a language model's text
  std::vector<std::string> source_symbols, target_symbols;  // with the end symbol; the target's are those that are predicted
  std::vector<AttentionMaps::Map> maps;
  DecoderRows decoder;  // of a recurrent model
};

// Rows of an attention are the positions that ask: source symbols in an encoder; in a decoder what is fed, START y_1 … (self-attention), or
// what is predicted, y_1 … END (over the source).
struct AttentionAxes {
  std::vector<std::string> rows, columns;
};
AttentionAxes axes_of(const ExplainedSentence& sentence, const AttentionMaps::Map& map);

// One query of one head, as numbers.
struct ExplainedQuery {
  std::string attention;
  std::vector<std::string> formulas;  // a line each
  std::string allowed;                // which keys the query may attend to, in words
  int head = 0, heads = 1;
  std::string symbol;
  int64_t row = 0;  // of the attention's rows
  std::vector<std::string> keys;
  std::vector<double> scores;  // -inf: blocked, by a mask or outside the window
  std::vector<float> weights;
  std::vector<float> query, mixed;        // [d_k], [d_v] of the head
  std::vector<float> output, readout;     // [D] after W_O, of all heads; what a recurrent model's output layer reads; may be empty
  std::string output_name, readout_name;  // in front of their numbers
  std::optional<float> centre;            // p_t of local-p, from 0
  float sigma = 0;                        // of its Gaussian
};

struct ExplainResult {
  std::vector<ExplainedSentence> sentences;
  std::vector<std::vector<ExplainedQuery>> queries;  // of each sentence, one an attention and head that has such a symbol
  std::string symbol;
  int head = -1;
};

void check_options(const ExplainOptions& options);
// Throws Error on an unusable model, an attention or head that it does not have, or a symbol that no sentence holds.
ExplainResult run_explain(const ExplainOptions& options);

LabReport report_of(const ExplainResult& result);
nlohmann::ordered_json to_json(const ExplainResult& result);

}  // namespace jumok
