// jumok lab heads: 1, 2, 4, 8 heads at equal width D (Vaswani 2017 §3.2.2, table 3 rows A): d = D / H, so cost and parameters stay.
#pragma once

#include <string>
#include <vector>

#include "lab/trained.h"

namespace jumok {

struct HeadsOptions {
  std::vector<int> heads = {1, 2, 4, 8};
  Task task = Task::kDates;
  LabFiles files;                                // own text instead of the task
  int training_pairs = 20000, test_pairs = 300;  // of own text so many test lines at most
  int64_t updates = 300;                         // of each; 10 times as many with run.full
  int width = 64;                                // D; 256 with run.full
  int batch_tokens = 1024;
  std::vector<std::string> settings;  // over all
  LabRun run;
};

// What the weights of one kind of attention look like, means over layers, heads, sentences and queries.
struct HeadShape {
  double entropy = 0;     // bits of a query's weights over the keys
  double possible = 0;    // bits that uniform weights would have: log2 of the number of keys allowed
  double divergence = 0;  // Jensen-Shannon, bits (0: alike, 1: nothing in common), between the heads of a layer, mean over pairs; 0 for one
                          // head
};

// Weights [T, S] of the heads of one attention on one sentence, row-major; adds to sums over their T queries.
struct HeadSums {
  double entropy = 0, possible = 0, divergence = 0;
  int64_t rows = 0, pair_rows = 0;  // queries × heads; queries × pairs of heads
  void add(const std::vector<std::vector<float>>& heads, int64_t keys);
  HeadShape mean() const;
};

struct HeadsRow {
  int heads = 0;
  Trained trained;
  Quality quality;
  HeadShape encoder, decoder, source;  // self-attention of either side, attention over the source
};
struct HeadsResult {
  std::string text;
  int width = 0;
  std::vector<HeadsRow> rows;
};
HeadsResult run_heads(const HeadsOptions& options);

LabReport report_of(const HeadsResult& result);
nlohmann::ordered_json to_json(const HeadsResult& result);

}  // namespace jumok
