// How good a parameter block is on held-back pairs: loss, BLEU, chrF.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/workers.h"
#include "data/parallel_corpus.h"
#include "models/model_files.h"

namespace jumok {

struct ValidationSet {
  ParallelCorpus corpus;
  std::vector<std::string> references;  // the target text of each pair of the corpus; none of a language model's texts
};

struct ValidationScores {
  double loss = 0;            // mean -log p per target symbol, without smoothing
  double bleu = 0, chrf = 0;  // of greedy translations; 13a, cased as the references are (lowercased with a lowercasing model);
                              // NaN without references
};

// Pairs dropped by the corpus (empty or too long sides) have no reference here either.
ValidationSet make_validation_set(std::span<const std::string> source, std::span<const std::string> target, const SubwordPair& subwords,
                                  int max_length, Workers& workers);

// Texts for a language model, those of more than max_length symbols in pieces.
ValidationSet make_text_validation_set(std::span<const std::string> lines, const Subwords& subwords, int max_length, Workers& workers);

double validation_loss(const EncoderDecoder& model, const float* parameters, const ParallelCorpus& corpus, Workers& workers);

// BLEU and chrF of greedy translations, where there are references; the loss is left 0: a trainer that chooses by it knows it already.
ValidationScores score_translations(const EncoderDecoder& model, const float* parameters, const ValidationSet& set, const Subwords& target,
                                    Workers& workers);

}  // namespace jumok
