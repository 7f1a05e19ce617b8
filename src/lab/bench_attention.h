// jumok bench attention: the scaled dot-product kernels of jumok/attention.h under each rule, against the machine's roof and the plain
// path.
#pragma once

#include <string>
#include <vector>

#include "lab/machine.h"
#include "lab/timing.h"

namespace jumok {

// full; causal; window; mask (three quarters of the pairs, at random); blocks (a mask of sections that see only themselves); bias; mixed
// (no rule, sentences of mixed lengths with as many pairs in all).
const std::vector<std::string>& attention_rules();

struct BenchAttentionOptions {
  int heads = 8, width = 64;  // H, d = d_k = d_v
  std::vector<int> lengths = {16, 32, 64, 128, 256, 512, 1024};
  std::vector<std::string> rules = attention_rules();
  int window = 64;       // keys of a windowed query, both sides together
  int cache = 4096;      // keys of the step; 0: no step
  int threads = 1;       // of a call; 0: one a core
  double seconds = 0.1;  // of each measurement
};

// One rule at one length, forward or backward: a packed batch whose Q, K and V lie in one matrix, as in a model. Processor time on one
// thread, the wall clock on several; the rules of a length are measured in turn.
struct AttentionRate {
  std::string rule;
  bool backward = false;
  int length = 0;               // T = S; of mixed: what its pairs are equal to
  int sentences = 0;            // of the batch
  Spread seconds;               // of a call
  double flop = 0;              // 4 d forward, 10 d backward, of each pair that position, or the mask of blocks, allows
  double fraction_of_peak = 0;  // flop / median seconds / FMA peak of the threads
  double against_full = 0;      // median seconds / those of the full attention of the same length; 0: that was not measured
};

struct BenchAttentionResult {
  MachineRoof roof;  // of the threads
  std::vector<AttentionRate> rates;
  int step_sentences = 0;
  Spread step_seconds, step_bytes_per_second;  // T = 1, each sentence with a cache of its own, which is read once
  double step_fraction_of_read = 0;
};

BenchAttentionResult bench_attention(const BenchAttentionOptions& options);

// Sentences of a batch of one length: sentences × heads are 2048 at 16, 512 at 32, 256 at 64, 64 at 128, 8192 / length from there, 8 and
// 4 a thread at least.
int bench_sentences(int length, int heads, int threads);

}  // namespace jumok
