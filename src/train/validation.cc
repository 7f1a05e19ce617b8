#include "train/validation.h"

#include <limits>
#include <numeric>

#include "data/batches.h"
#include "jumok/metrics.h"
#include "tensor/arena.h"
#include "translate/decode.h"

namespace jumok {

ValidationSet make_validation_set(std::span<const std::string> source, std::span<const std::string> target, const SubwordPair& subwords,
                                  int max_length, Workers& workers) {
  ValidationSet set{ParallelCorpus::build({source, target, *subwords.source, *subwords.target}, {max_length}, &workers), {}};
  for (int i = 0; i < set.corpus.size(); ++i) set.references.push_back(target[set.corpus.line(i)]);
  return set;
}

ValidationSet make_text_validation_set(std::span<const std::string> lines, const Subwords& subwords, int max_length, Workers& workers) {
  return {ParallelCorpus::build_text(lines, subwords, {max_length, true}, &workers), {}};
}

double validation_loss(const EncoderDecoder& model, const float* parameters, const ParallelCorpus& corpus, Workers& workers) {
  constexpr int64_t kRows = 1024;
  std::vector<int32_t> all(corpus.size());
  std::iota(all.begin(), all.end(), 0);
  const auto batches = split_rows(all, corpus.longer_lengths(), kRows);
  std::vector<OutputLoss> losses(batches.size());
  std::vector<Arena> arenas(workers.size());
  workers.run(static_cast<int>(batches.size()), [&](int b, int worker) {
    arenas[worker].reset();
    Context context{arenas[worker], parameters};
    losses[b] = model.loss(context, {pack_source(corpus, batches[b]), pack_target(corpus, batches[b])});
  });
  double nll = 0;
  int64_t tokens = 0;
  for (const OutputLoss& l : losses) {
    nll += l.nll;
    tokens += l.tokens;
  }
  return tokens > 0 ? nll / static_cast<double>(tokens) : 0;
}

ValidationScores score_translations(const EncoderDecoder& model, const float* parameters, const ValidationSet& set, const Subwords& target,
                                    Workers& workers) {
  ValidationScores scores;
  if (set.references.empty()) {
    scores.bleu = scores.chrf = std::numeric_limits<double>::quiet_NaN();
    return scores;
  }
  std::vector<std::vector<int32_t>> sources;
  for (int i = 0; i < set.corpus.size(); ++i) sources.emplace_back(set.corpus.source(i).begin(), set.corpus.source(i).end());
  DecodeOptions options;
  options.search = translation_search();
  options.search.beam = 1;
  std::vector<std::string> hypotheses;
  for (const auto& list : decode(model, parameters, sources, options, workers)) hypotheses.push_back(target.decode(list.front().tokens));
  MetricOptions metric;
  metric.lowercase = metric.chrf_lowercase = target.lowercase();
  scores.bleu = bleu(hypotheses, set.references, metric).score;
  scores.chrf = chrf(hypotheses, set.references, metric).score;
  return scores;
}

}  // namespace jumok
