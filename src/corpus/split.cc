#include "corpus/split.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "base/error.h"
#include "corpus/clean.h"
#include "base/hash.h"

namespace jumok {
namespace {

constexpr uint64_t kSourceSide = 0x50, kTargetSide = 0x54;

uint64_t key_hash(std::string_view text, uint64_t side) {
  const std::string key = fold_text(text);
  return hash_text(key.empty() ? text : std::string_view(key), side);
}

struct Keys {
  uint64_t source, target;
};

struct Placed {
  uint64_t order;
  size_t index;
};

// The keys of a part, to find what is too close to it.
class KeySet {
 public:
  void insert(const Keys& keys) {
    keys_.insert(keys.source);
    keys_.insert(keys.target);
  }
  bool touches(const Keys& keys) const { return keys_.count(keys.source) > 0 || keys_.count(keys.target) > 0; }

 private:
  std::unordered_set<uint64_t> keys_;  // the sides are hashed with different seeds, so one set serves both
};

class Splitter {
 public:
  Splitter(std::span<const TextPair> pairs, const Language& from, const SplitOptions& options)
      : pairs_(pairs), from_(from), options_(options), parts_(pairs.size(), Part::kTrain) {
    for (size_t i = 0; i < pairs.size(); ++i) {
      keys_.push_back({key_hash(pairs[i].source, kSourceSide), key_hash(pairs[i].target, kTargetSide)});
      order_.push_back({split_order(pairs[i], options.seed), i});
    }
    std::sort(order_.begin(), order_.end(),
              [](const Placed& a, const Placed& b) { return a.order != b.order ? a.order < b.order : a.index < b.index; });
  }

  std::vector<Part> run() {
    leave_out(fill(Part::kTest, options_.test));
    leave_out(fill(Part::kDev, options_.dev));
    return std::move(parts_);
  }

 private:
  // Gives whole groups to `part` while they fit into what is still wanted; the keys of its pairs.
  KeySet fill(Part part, int wanted) {
    const auto most = static_cast<size_t>(options_.max_fraction * static_cast<double>(pairs_.size()));
    size_t left = std::min(static_cast<size_t>(wanted), most);
    KeySet taken;
    for (size_t begin = 0; begin < order_.size() && left > 0;) {
      size_t end = begin + 1;
      while (end < order_.size() && order_[end].order == order_[begin].order) ++end;
      std::vector<size_t> members;
      for (size_t i = begin; i < end; ++i) {
        if (parts_[order_[i].index] == Part::kTrain) members.push_back(order_[i].index);
      }
      if (members.size() <= left && !members.empty() && worth_testing(members.front())) {
        for (const size_t i : members) {
          parts_[i] = part;
          taken.insert(keys_[i]);
        }
        left -= members.size();
      }
      begin = end;
    }
    return taken;
  }

  bool worth_testing(size_t i) const { return pairs_[i].page != 0 || count_words(pairs_[i].source, from_) >= options_.min_words; }

  // Nothing of the training part that is too close to `keys` stays there, nor goes to a part filled later.
  void leave_out(const KeySet& keys) {
    for (size_t i = 0; i < pairs_.size(); ++i) {
      if (parts_[i] == Part::kTrain && keys.touches(keys_[i])) parts_[i] = Part::kLeftOut;
    }
  }

  std::span<const TextPair> pairs_;
  const Language& from_;
  const SplitOptions& options_;
  std::vector<Part> parts_;
  std::vector<Keys> keys_;
  std::vector<Placed> order_;
};

}  // namespace

uint64_t split_order(const TextPair& pair, uint64_t seed) {
  return hash_words(seed, pair.page != 0 ? pair.page : key_hash(pair.source, kSourceSide));
}

std::vector<Part> split_pairs(std::span<const TextPair> pairs, const Language& from, const SplitOptions& options) {
  check(options.dev >= 0 && options.test >= 0, "expected sizes of dev and test from 0 up, found {} and {}", options.dev, options.test);
  check(options.max_fraction >= 0 && options.max_fraction <= 0.5, "expected a largest fraction of 0 to 0.5, found {}",
        options.max_fraction);
  return Splitter(pairs, from, options).run();
}

}  // namespace jumok
