#include "search/single_path.h"

#include "search/length_penalty.h"
#include "search/scorer.h"

namespace jumok {
namespace {

class SinglePath {
 public:
  SinglePath(Stepper& model, const SearchOptions& options, Prefixes prefixes, const Choose& choose)
      : scorer_(model, options, prefixes), options_(options), choose_(choose), is_forced_(!prefixes.empty()), results_(model.sentences()) {
    for (int s = 0; s < model.sentences(); ++s) {
      Path path{.sentence = s, .feed = {s, options.start, 0}};
      if (!prefixes.empty()) path.prefix = prefixes[s];
      path.limit = length_limit(options.max_length, model, s, path.prefix.size());
      if (!path.prefix.empty()) path.feed.length = -1;
      paths_.push_back(path);
    }
  }

  std::vector<Hypothesis> run() {
    if (is_forced_ && read_prompts()) extend_all();
    while (!paths_.empty()) {
      feeds_.clear();
      for (const Path& path : paths_) feeds_.push_back(path.feed);
      scorer_.step(feeds_);
      extend_all();
    }
    return std::move(results_);
  }

 private:
  struct Path {
    int sentence = 0, limit = 0;
    Feed feed;
    std::span<const int32_t> prefix;  // not yet fed
    bool finished = false;
  };

  // All forced symbols at once, where the model can: an empty prefix among them too, so that no row depends on its neighbours' prefixes.
  bool read_prompts() {
    std::vector<std::vector<int32_t>> prompts;
    for (const Path& path : paths_) {
      prompts.push_back({options_.start});
      prompts.back().insert(prompts.back().end(), path.prefix.begin(), path.prefix.end());
    }
    if (!scorer_.read_prompts(prompts)) return false;
    for (Path& path : paths_) path.prefix = {}, path.feed.length = 0;
    return true;
  }

  void extend_all() {
    for (size_t r = 0; r < paths_.size(); ++r) extend(paths_[r], static_cast<int>(r));
    std::erase_if(paths_, [](const Path& path) { return path.finished; });
  }

  void extend(Path& path, int row) {
    path.feed.parent = row;
    if (!path.prefix.empty()) {
      path.feed.symbol = path.prefix.front();
      path.prefix = path.prefix.subspan(1);
      path.feed.length = path.prefix.empty() ? 0 : -1;
      return;
    }
    Hypothesis& result = results_[path.sentence];
    const int32_t symbol = choose_(path.sentence, path.feed.length, scorer_.logits(row));
    result.log_prob += scorer_.log_prob(row, symbol);
    path.feed.symbol = symbol;
    ++path.feed.length;
    if (symbol != options_.end) result.tokens.push_back(symbol);
    path.finished =
        symbol == options_.end || path.feed.length == path.limit || (options_.done && options_.done(path.sentence, result.tokens));
    if (!path.finished) return;
    result.cut = symbol != options_.end;
    result.score = length_score(result.log_prob, path.feed.length, options_.alpha);
  }

  Scorer scorer_;
  const SearchOptions& options_;
  const Choose& choose_;
  const bool is_forced_;
  std::vector<Path> paths_;  // the sentences still alive, in rising order
  std::vector<Feed> feeds_;
  std::vector<Hypothesis> results_;
};

}  // namespace

std::vector<Hypothesis> single_path(Stepper& model, const SearchOptions& options, Prefixes prefixes, const Choose& choose) {
  return SinglePath(model, options, prefixes, choose).run();
}

}  // namespace jumok
