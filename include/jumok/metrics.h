// How good translations and alignments are: BLEU, chrF, alignment error rate, perplexity.
//
// BLEU and chrF equal sacreBLEU 2.6's numbers for the same options; each result carries its signature, to be printed beside the number.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jumok/error.h"

namespace jumok {

// How a line is split into the words that BLEU counts; the names are sacreBLEU's.
enum class Tokenizer {
  k13a,   // mteval-v13a, for languages with spaces: ASCII punctuation apart, &quot; &amp; &lt; &gt; decoded
  kChar,  // every character is a word
  kNone,  // split at white space only
  kIntl,  // mteval-v14: punctuation and symbols of all scripts apart
  kZh,    // Chinese: every Chinese character a word, the rest like 13a
};

// What stands in for an n-gram precision of 0 (Chen and Cherry 2014, "A Systematic Comparison of Smoothing Techniques").
enum class Smoothing {
  kExp,    // method 3: 1/2, 1/4, ... of one match for the first, second, ... order without a match
  kNone,   // nothing: BLEU is 0 when one order has no match
  kFloor,  // method 1: smooth_value matches (0.1 unless set)
  kAddK,   // method 2: smooth_value (1 unless set) added to matches and totals of the orders above 1
};

struct MetricOptions {
  Tokenizer tokenizer = Tokenizer::k13a;  // BLEU only
  bool lowercase = false;                 // BLEU: both sides in lower case first
  Smoothing smoothing = Smoothing::kExp;  // BLEU only
  std::optional<double> smooth_value;     // of kFloor and kAddK, > 0
  int char_order = 6;                     // chrF: longest character n-gram, 1 to 16
  int word_order = 0;                     // chrF: longest word n-gram, 0 to 16; 2 is chrF++ (Popović 2017)
  int beta = 2;                           // chrF: recall weighs beta times as much as precision, 1 to 100
  bool chrf_lowercase = false;            // chrF: both sides in lower case first
};

// "13a", "char", "none", "intl", "zh"; Error naming the choices for anything else.
Tokenizer parse_tokenizer(std::string_view name);

struct BleuScore {
  double score = 0;                // 0 to 100
  std::vector<int64_t> matches;    // of n-grams, n = 1 to 4, clipped by the reference's count
  std::vector<int64_t> totals;     // n-grams in the hypotheses
  std::vector<double> precisions;  // in percent, after smoothing
  double brevity_penalty = 1;      // exp(1 - reference_length / hypothesis_length) when the hypotheses are shorter, else 1
  double ratio = 0;                // hypothesis_length / reference_length; 0 when the reference has no words
  int64_t hypothesis_length = 0;   // words
  int64_t reference_length = 0;
  std::string signature;  // "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:jumok-0.1.0"
  std::string note;       // why the score is 0 where that may surprise (no sentence has four words); else empty
};

struct ChrfScore {
  double score = 0;       // 0 to 100
  std::string name;       // "chrF2", "chrF2++" with word_order 2
  std::string signature;  // "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:jumok-0.1.0"
};

// Corpus BLEU (Papineni, Roukos, Ward, Zhu 2002), one reference a sentence, n-grams up to 4, UTF-8. Statistics are summed over the
// sentences, so an empty line counts only by its reference's length. Error when the counts of lines differ or are 0.
BleuScore bleu(const std::vector<std::string>& hypotheses, const std::vector<std::string>& references, const MetricOptions& options = {});

// BLEU of one sentence with effective order: only the n-gram lengths that the hypothesis has are averaged.
BleuScore sentence_bleu(const std::string& hypothesis, const std::string& reference, const MetricOptions& options = {});

// Corpus chrF (Popović 2015): F-score of character n-grams without white space, averaged over the orders both sides have.
ChrfScore chrf(const std::vector<std::string>& hypotheses, const std::vector<std::string>& references, const MetricOptions& options = {});

// "BLEU = 60.65 100.0/100.0/100.0/100.0 (BP = 0.607 ratio = 0.667 hyp_len = 6 ref_len = 9)" and "chrF2 = 65.12".
std::string to_string(const BleuScore& score);
std::string to_string(const ChrfScore& score);

// Source word `source` is linked to target word `target`, both counted from 0.
struct AlignmentLink {
  int source = 0;
  int target = 0;
  auto operator<=>(const AlignmentLink&) const = default;
};

// The reference links of one sentence. A sure link is also possible, whether or not it is repeated there.
struct GoldAlignment {
  std::vector<AlignmentLink> sure;
  std::vector<AlignmentLink> possible;
};

// Which proposed links are judged, for gold that annotates only some of the words.
enum class JudgedLinks {
  kAll,
  kEitherAnnotated,  // links whose source or target word has a gold link
  kBothAnnotated,    // links whose source and target word have a gold link
};

// Och and Ney 2003, "A Systematic Comparison of Various Statistical Alignment Models", eq. 40-42; A proposed, S sure, P possible:
//   precision = |A ∩ P| / |A|     recall = |A ∩ S| / |S|     AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|)
// all from 0 to 1. Where a denominator is 0 nothing was wrong or missed: precision or recall 1, AER 0.
struct AlignmentScore {
  double precision = 0;
  double recall = 0;
  double error_rate = 0;         // AER; 0 is best
  int64_t proposed = 0;          // |A|
  int64_t sure = 0;              // |S|
  int64_t matched_sure = 0;      // |A ∩ S|
  int64_t matched_possible = 0;  // |A ∩ P|
};

// Links repeated in a sentence count once. Error when the counts of sentences differ.
AlignmentScore alignment_error_rate(const std::vector<std::vector<AlignmentLink>>& hypotheses, const std::vector<GoldAlignment>& gold,
                                    JudgedLinks judged = JudgedLinks::kAll);

// The numbers of words a link may point into, one entry a sentence; an empty list checks nothing.
struct AlignmentLengths {
  std::vector<int> source;
  std::vector<int> target;
};

// Proposed links, one line a sentence: "0-0 1-2 ..." (source-target from 0, "Pharaoh"); an empty line has no links. `name` is for messages.
// Error with name and line for anything else, for a link beyond `lengths`, and when there are other than lengths' count of lines.
std::vector<std::vector<AlignmentLink>> parse_alignments(const std::vector<std::string>& lines, const std::string& name,
                                                         const AlignmentLengths& lengths = {});

// The two forms gold links are published in. kRecognised: the one that the first line with content has.
enum class GoldFormat { kRecognised, kPharaoh, kNaacl };

// Gold links; errors as above:
//   Pharaoh, one line a sentence, from 0: "0-0 1-2 1?3 2p3" (i-j sure, i?j or ipj possible);
//   NAACL 2003, one line a link, from 1: "sentence source target [S|P] [confidence]", sure unless said; sentences without a line have no
//   links.
// `sentences` is how many there are; a Pharaoh file must have as many lines, a NAACL file may name no sentence beyond.
std::vector<GoldAlignment> parse_gold_alignments(const std::vector<std::string>& lines, const std::string& name, size_t sentences,
                                                 const AlignmentLengths& lengths = {}, GoldFormat format = GoldFormat::kRecognised);

// exp(nll_sum / tokens): nll_sum is the summed negative log-probability in nats, end symbols counted as tokens if they were scored. Error
// when tokens is not above 0. Infinity where the result is too large.
double perplexity(double nll_sum, int64_t tokens);

}  // namespace jumok
