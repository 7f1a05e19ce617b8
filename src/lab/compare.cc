#include "lab/compare.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace jumok {
namespace {

// The test pair that is shown: the first of middling length, so that its picture fits.
size_t example_of(const LabText& text) {
  const auto words = [](const std::string& line) { return std::count(line.begin(), line.end(), ' ') + 1; };
  for (size_t i = 0; i < text.test_source.size(); ++i) {
    const auto n = words(text.test_source[i]), m = words(text.test_target[i]);
    if (n >= 5 && n <= 16 && m >= 4 && m <= 16) return i;
  }
  return 0;
}

// The paper's D = 10 would cover the whole of a task's short sentences.
std::vector<Contender> compared(const CompareOptions& o) { return choose_contenders(all_mechanisms(o.files.given() ? 10 : 3), o.only); }

}  // namespace

std::vector<Contender> all_mechanisms(int half_width) {
  const std::string width = fmt::format("attention.half-width={}", half_width);
  return {
      {"none, initial state", "rnn-none", {}},
      {"none, every step",
       "rnn-none",
       {"attention.score=none-every-step", "decoder.first-state=bridge", "decoder.readout=maxout", "rnn.cell=gru",
        "encoder.reversed=false"}},
      {"bahdanau", "rnn-bahdanau", {}},
      {"luong dot", "rnn-luong-dot", {}},
      {"luong general", "rnn-luong-general", {}},
      {"luong concat", "rnn-luong-concat", {}},
      {"luong location", "rnn-luong-location", {}},
      {"local-m", "rnn-luong-general", {"attention.window=local-m", width}},
      {"local-p", "rnn-luong-general", {"attention.window=local-p", width}},
      {"input feeding", "rnn-luong-general", {"decoder.input-feeding=true"}},
      {"rnn scaled dot", "rnn-luong-dot", {"attention.score=scaled-dot"}},
      {"rnn multi-head", "rnn-luong-dot", {"attention.score=multi-head", "attention.heads=4"}},
      {"transformer", "transformer-tiny", {}},
      {"transformer additive", "transformer-tiny", {"cross-attention.score=additive"}},
      {"transformer dot", "transformer-tiny", {"cross-attention.score=dot"}},
      {"transformer general", "transformer-tiny", {"cross-attention.score=general"}},
  };
}

void check_options(const CompareOptions& o) {
  check_files(o.files);
  check_contenders(compared(o), o.budget());
}

CompareResult run_compare(const CompareOptions& o) {
  check_options(o);
  const std::vector<Contender> contenders = compared(o);
  const LabText text = o.text();
  const TrainingBudget budget = o.budget();
  const TrainingGround ground(text, budget, o.run);

  CompareResult r;
  r.text = text.name;
  r.training_pairs = static_cast<int64_t>(text.source.size());
  r.test_pairs = static_cast<int64_t>(text.test_source.size());
  const size_t example = example_of(text);
  r.example_source = text.test_source[example];
  r.example_target = text.test_target[example];
  const double share = 1.0 / static_cast<double>(contenders.size());
  for (const Contender& c : contenders) {
    const double begin = share * static_cast<double>(r.rows.size());
    CompareRow row;
    row.trained = ground.train(c, begin, begin + 0.95 * share);
    r.width = budget.width > 0 ? row.trained.width : 0;  // settings may have changed it
    r.batch_tokens = row.trained.batch_tokens;
    row.quality = judge(row.trained.model, text, o.run.threads);
    row.picture = alignment_picture(row.trained.model, r.example_source, r.example_target, row.quality.attention);
    r.rows.push_back(std::move(row));
  }
  return r;
}

}  // namespace jumok
