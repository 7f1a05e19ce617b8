// jumok lab kv-cache: what generating costs with and without kept keys and values.
//   cache = 2 · layers · d_kv · length · bytes        a step reads all of it once, and all weights of the decoder once
//   attention over a whole prefix n² d, of a step n d
#pragma once

#include <string>
#include <vector>

#include "lab/experiment.h"

namespace jumok {

struct KvCacheOptions {
  std::string preset = "transformer-small";  // or a language model's
  int vocabulary = 8000;
  int length = 256;        // symbols generated
  int source_length = 16;  // symbols of the source; a language model has none
  int passes = 3;          // of generating, after one that is not counted; of each step's times the median is taken
  LabRun run;

  void full_budget() { length = 1024; }
};

struct KvCacheRow {
  int length = 0;                     // n: symbols so far, the new one included
  int64_t formula_bytes = 0;          // 2 · layers · d_kv · n · 4
  int64_t read_bytes = 0;             // the rows of the cache that a step reads
  int64_t reserved_bytes = 0;         // what the cache holds memory for
  double step_seconds = 0;            // the n-th symbol with the cache: a step
  double pass_seconds = 0;            // without: all n symbols through the decoder again
  double steps_seconds = 0;           // all n symbols one after the other, with the cache
  double prompt_seconds = 0;          // all n at once, filling the cache, as a prompt is read; 0: the model does not
  double attention_step_seconds = 0;  // the attention alone: one query, n keys
  double attention_pass_seconds = 0;  // n queries, n keys, causal
};
// Where the cache of a decoder grows larger than the weights it is read beside.
struct KvCacheCrossing {
  std::string preset;
  int64_t weight_bytes = 0;        // of the decoder's step: layers without K and V of the source, output layer
  int64_t bytes_per_symbol = 0;    // of the cache
  double length(int rows) const {  // symbols at which `rows` sentences' caches are as large as the weights
    return static_cast<double>(weight_bytes) / (static_cast<double>(bytes_per_symbol) * rows);
  }
};
struct KvCacheResult {
  std::string preset;
  int layers = 0, width = 0, vocabulary = 0;
  std::vector<KvCacheRow> rows;
  double pass_exponent = 0, step_exponent = 0;                      // of the whole decoder's times, upper three lengths
  double attention_pass_exponent = 0, attention_step_exponent = 0;  // expected: 2 and 1
  double generate_with = 0, generate_without = 0;  // seconds for all symbols; without: the sum of passes, interpolated between the lengths
  std::vector<KvCacheCrossing> crossings;
  double measured_crossing = 0;  // where the growing part of a step's time reaches the constant part; NaN where no growth was seen
};
void check_options(const KvCacheOptions& options);
KvCacheResult run_kv_cache(const KvCacheOptions& options);

LabReport report_of(const KvCacheResult& result);
nlohmann::ordered_json to_json(const KvCacheResult& result);

}  // namespace jumok
