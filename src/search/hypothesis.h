// What a search is asked for and what it gives back.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace jumok {

// One output of a search. Its symbols are the new ones only: a forced prefix counts neither in `tokens` nor in log P nor in the length.
struct Hypothesis {
  std::vector<int32_t> tokens;  // without start symbol, prefix and end symbol
  double log_prob = 0;          // log P of the tokens and, unless cut, of the end symbol
  double score = 0;             // log P / length^α; the end symbol counts in the length
  bool cut = false;             // reached the length limit, or was done before its end: there is no end symbol
};

struct SearchOptions {
  int beam = 4;                    // places for hypotheses of one sentence; 1 is greedy search
  int nbest = 1;                   // hypotheses returned per sentence, at most `beam`
  double alpha = 1;                // exponent of the length in the score; 0 compares plain log P
  int max_length = 0;              // most new symbols, the end symbol included; 0: 2·S + 10 with S the source length in pieces
  int min_length = 0;              // fewest new tokens before the end symbol is allowed; the limit above is the stronger one
  int32_t start = -1;              // the symbol fed first; never produced (unless it is the end symbol too)
  int32_t end = -1;                // the symbol that finishes a hypothesis
  int32_t unknown = -1;            // the symbol of unknown text, -1 where there is none
  bool allow_unknown = false;      // whether `unknown` may be produced
  std::vector<int32_t> forbidden;  // further symbols never produced (padding, languages not wanted)
  // Of greedy search and sampling: whether the hypothesis of a sentence is done with these tokens, as if it had reached its limit.
  std::function<bool(int sentence, std::span<const int32_t> tokens)> done;
};

// The symbols forced after the start symbol: none at all, or one list per sentence. Lists that are all empty force nothing either, but a
// model that reads prompts in one pass then reads the start symbol in that way: scores differ from those without lists by rounding.
using Prefixes = std::span<const std::vector<int32_t>>;

}  // namespace jumok
