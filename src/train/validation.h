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
  std::vector<std::string> references;  // the target text of each pair of the corpus
};

struct ValidationScores {
  double loss = 0;  // mean -log p per target symbol, without smoothing
  double perplexity = 0;
  double bleu = 0, chrf = 0;  // of greedy translations; 13a, cased as the references are (lowercased with a lowercasing model)
};

// Pairs dropped by the corpus (empty or too long sides) have no reference here either.
ValidationSet make_validation_set(std::span<const std::string> source, std::span<const std::string> target, const SubwordPair& subwords,
                                  int max_length, Workers& workers);

double validation_loss(const EncoderDecoder& model, const float* parameters, const ParallelCorpus& corpus, Workers& workers);

// Loss and translations. `lowercase`: references are compared in lower case.
ValidationScores validate(const EncoderDecoder& model, const float* parameters, const ValidationSet& set, const Subwords& target,
                          Workers& workers);

}  // namespace jumok
