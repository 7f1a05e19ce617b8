#include "corpus/corpus.h"

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "corpus/catalogue_pairs.h"
#include "corpus/help_pages.h"
#include "text/lines.h"
#include "text/unicode.h"

namespace jumok {
namespace fs = std::filesystem;
namespace {

// Cleans the pairs of one source after the other and keeps the good ones.
class Collector {
 public:
  Collector(const CorpusRequest& options, Corpus& corpus)
      : corpus_(corpus), cleaner_(find_language(options.from), find_language(options.to), options.clean) {}

  template <typename Read>
  void collect(const char* kind, const std::string& path, Read read) {
    SourceReport report{.kind = kind, .path = path, .example = {}};
    read([&](TextPair&& pair) {
      const Drop reason = cleaner_.clean(pair);
      report.count(reason, pair);
      if (reason != Drop::kKept) return;
      pair.place.clear();  // told in the report where it matters; not worth the memory of a big corpus
      pair.place.shrink_to_fit();
      corpus_.pairs.push_back(std::move(pair));
    });
    corpus_.report.sources.push_back(std::move(report));
  }

 private:
  Corpus& corpus_;
  Cleaner cleaner_;
};

void read_all(const CorpusRequest& options, Corpus& corpus) {
  Collector collector(options, corpus);
  for (const fs::path& folder : options.catalogues) {
    collector.collect("catalogues", folder.string(),
                      [&](const PairSink& sink) { read_catalogues(folder, options.from, options.to, sink); });
  }
  for (const fs::path& folder : options.help) {
    collector.collect("libreoffice-help", folder.string(),
                      [&](const PairSink& sink) { read_help_pages(folder, options.from, options.to, sink); });
  }
  for (const fs::path& file : options.tsv) {
    collector.collect("tsv", file.string(), [&](const PairSink& sink) { read_tsv(file, options.columns, sink); });
  }
  for (const auto& [source, target] : options.pairs) {
    collector.collect("pair", source.string() + " " + target.string(),
                      [&](const PairSink& sink) { read_plain_pair(source, target, sink); });
  }
}

std::string most_frequent_reason(const CorpusReport& report) {
  std::array<size_t, kDropCount> total{};
  for (const SourceReport& source : report.sources) {
    for (size_t i = 0; i < kDropCount; ++i) total[i] += source.dropped[i];
  }
  const auto most = std::max_element(total.begin(), total.end());
  return *most == 0 ? "nothing was read" : fmt::format("mostly: {}", drop_name(static_cast<Drop>(most - total.begin())));
}

size_t read_in_all(const CorpusReport& report) {
  size_t read = 0;
  for (const SourceReport& source : report.sources) read += source.read;
  return read;
}

// The files of a corpus, side by side under temporary names until all are whole: those of two runs never stand together.
class CorpusFiles {
 public:
  explicit CorpusFiles(const fs::path& folder) : folder_(folder) {}
  AtomicFile& open(const std::string& name) { return *files_.emplace_back(std::make_unique<AtomicFile>(folder_ / name)); }
  void commit() {
    for (const auto& file : files_) file->commit();
  }

 private:
  fs::path folder_;
  std::vector<std::unique_ptr<AtomicFile>> files_;
};

void write_part(const Corpus& corpus, Part part, const std::string& name, CorpusFiles& files) {
  constexpr size_t kBlock = 1 << 16;
  const auto write_side = [&](const std::string& language, std::string TextPair::*side) {
    AtomicFile& file = files.open(name + "." + language);
    std::string block;
    for (size_t i = 0; i < corpus.pairs.size(); ++i) {
      if (corpus.parts[i] == part) block += clean_utf8(corpus.pairs[i].*side) + "\n";
      if (block.size() < kBlock) continue;
      file.write(block);
      block.clear();
    }
    file.write(block);
  };
  write_side(corpus.report.from, &TextPair::source);
  write_side(corpus.report.to, &TextPair::target);
}

}  // namespace

void check_request(const CorpusRequest& options) {
  const bool any = !(options.catalogues.empty() && options.help.empty() && options.tsv.empty() && options.pairs.empty());
  check(any, "expected at least one source of text, found none");
  check(!same_language(options.from, options.to), "expected two different languages, found '{}' and '{}'", options.from, options.to);
  const Cleaner cleaner(find_language(options.from), find_language(options.to), options.clean);  // checks its part
}

Corpus build_corpus(const CorpusRequest& options) {
  check_request(options);
  Corpus corpus;
  read_all(options, corpus);
  CorpusReport& report = corpus.report;
  check(!corpus.pairs.empty(), "no pair was kept of {} read ({})", read_in_all(report), most_frequent_reason(report));

  corpus.parts = split_pairs(corpus.pairs, find_language(options.from), options.split);
  const auto count = [&](Part part) { return static_cast<size_t>(std::count(corpus.parts.begin(), corpus.parts.end(), part)); };
  report.from = options.from;
  report.to = options.to;
  report.seed = options.split.seed;
  report.train = count(Part::kTrain);
  report.dev = count(Part::kDev);
  report.test = count(Part::kTest);
  report.near_dev_or_test = count(Part::kLeftOut);
  return corpus;
}

void write_corpus(const Corpus& corpus, const fs::path& folder) {
  make_folder(folder);
  remove_leftovers(folder);  // of a run that was killed
  CorpusFiles files(folder);
  write_part(corpus, Part::kTrain, "train", files);
  write_part(corpus, Part::kDev, "dev", files);
  write_part(corpus, Part::kTest, "test", files);
  files.open("report.json").write(report_json(corpus.report));
  files.commit();
}

}  // namespace jumok
