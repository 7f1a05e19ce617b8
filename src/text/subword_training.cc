#include <sentencepiece_trainer.h>

#include <algorithm>
#include <cstdio>
#include <unordered_map>

#include "base/error.h"
#include "text/sentencepiece_reason.h"
#include "text/subwords.h"
#include "text/unicode.h"

namespace jumok {
namespace {

constexpr char32_t kSpaceMark = 0x2581;  // "▁"
constexpr char32_t kReserved = 0x2585;   // the trainer's own mark: it drops every sentence that holds one

// The trainer counts words, so a long line may be cut between words without changing what is learnt; its BPE ends the program at words
// above 65535 characters, so a longer run without white space is cut as well.
constexpr size_t kChunk = 4096;  // bytes

// Hands the trainer all of the text in pieces it takes.
class Chunks : public sentencepiece::SentenceIterator {
 public:
  Chunks(std::span<const std::string> sentences, bool lowercase) : sentences_(sentences), lowercase_(lowercase) { Next(); }

  bool done() const override { return done_; }
  void Next() override {
    while (position_ >= line_.size()) {
      if (next_ == sentences_.size()) {
        done_ = true;
        return;
      }
      line_ = prepare(sentences_[next_++]);
      position_ = 0;
    }
    const size_t end = chunk_end(line_, position_);
    chunk_ = line_.substr(position_, end - position_);
    position_ = end;
  }
  const std::string& value() const override { return chunk_; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  std::string prepare(const std::string& sentence) const {
    const std::string text = lowercase_ ? simple_lowercase(clean_utf8(sentence)) : clean_utf8(sentence);
    const auto at_symbol = [&](size_t i) {
      const std::string_view rest = std::string_view(text).substr(i);
      return rest.starts_with("<unk>") || rest.starts_with("<s>") || rest.starts_with("</s>");
    };
    std::string prepared;
    for (size_t i = 0; i < text.size();) {
      const bool symbol = at_symbol(i);
      const char32_t c = next_code_point(text, i);
      append_utf8(prepared, c == kReserved ? U' ' : c);
      if (symbol) prepared += ' ';  // the trainer leaves "</s>" out of the text; "< /s>" it learns from
    }
    return prepared;
  }
  static size_t chunk_end(std::string_view line, size_t begin) {
    if (line.size() - begin <= kChunk) return line.size();
    size_t cut = begin, position = begin;
    while (position < begin + kChunk) {
      if (is_space(next_code_point(line, position))) cut = position;
    }
    return cut > begin ? cut : position;
  }

  std::span<const std::string> sentences_;
  bool lowercase_;
  size_t next_ = 0, position_ = 0;
  std::string line_, chunk_;
  bool done_ = false;
};

const char* kind_name(SubwordKind kind) {
  switch (kind) {
    case SubwordKind::kUnigram:
      return "unigram";
    case SubwordKind::kBpe:
      return "bpe";
    case SubwordKind::kChar:
      return "char";
    case SubwordKind::kWord:
      return "word";
  }
  return "";
}

const char* normalization_name(SubwordNormalization normalization) {
  switch (normalization) {
    case SubwordNormalization::kNmtNfkc:
      return "nmt_nfkc";
    case SubwordNormalization::kNfkc:
      return "nfkc";
    case SubwordNormalization::kIdentity:
      return "identity";
  }
  return "";
}

// The trainer reads lists as comma-separated values.
std::string csv_of(const std::vector<std::string>& values) {
  std::string csv;
  for (const auto& value : values) {
    check(!value.empty() && value != "<unk>" && value != "<s>" && value != "</s>",
          "symbols: expected texts other than <unk>, <s>, </s>, found \"{}\"", value);
    if (!csv.empty()) csv += ',';
    csv += '"';
    for (const char c : value) csv += c == '"' ? std::string(2, '"') : std::string(1, c);
    csv += '"';
  }
  return csv;
}

using Arguments = std::unordered_map<std::string, std::string>;

Arguments arguments_of(const SubwordOptions& options) {
  return {
      {"model_type", kind_name(options.kind)},
      {"vocab_size", std::to_string(options.vocabulary)},
      {"hard_vocab_limit", "false"},
      {"character_coverage", fmt::format("{}", options.character_coverage)},
      {"normalization_rule_name", normalization_name(options.normalization)},
      {"remove_extra_whitespaces", options.keep_spaces ? "false" : "true"},
      {"byte_fallback", options.byte_fallback ? "true" : "false"},
      {"user_defined_symbols", csv_of(options.symbols)},
      // Only a word piece begins with its space; everywhere else "▁" stands apart from the unknown character.
      {"unk_surface", options.kind == SubwordKind::kWord ? " \u2047" : "\u2047"},
      {"unk_id", std::to_string(kUnknown)},
      {"bos_id", std::to_string(kStart)},
      {"eos_id", std::to_string(kEnd)},
      {"pad_id", "-1"},
      {"max_sentence_length", std::to_string(1 << 20)},  // bytes, above every chunk
      // Counts are summed in floating point, thread by thread: their number is part of the result (29000 lines, 8000 pieces: 331 pieces
      // differ between 1 and 8), so it is fixed and not the machine's.
      {"num_threads", "8"},
      {"minloglevel", "4"},  // nothing is printed
  };
}

// The trainer ends the program when normalisation leaves nothing at all, so there must be something that no normalisation removes.
bool has_sign(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const char32_t c = next_code_point(text, i);
    if (c != kReserved && c != kSpaceMark && c != kReplacement && (is_letter(c) || is_digit(c) || is_punctuation(c) || is_symbol(c)))
      return true;
  }
  return false;
}

[[noreturn]] void explain(std::string_view message, const SubwordOptions& options) {
  // "Vocabulary size is smaller than required_chars. 5 vs 8. …"
  int found = 0, needed = 0;
  const size_t at = message.find("required_chars. ");
  if (at != std::string_view::npos &&
      std::sscanf(std::string(message.substr(at)).c_str(), "required_chars. %d vs %d", &found, &needed) == 2) {
    fail("vocabulary: expected at least {} pieces, which the characters of this text alone need, found {}", needed, options.vocabulary);
  }
  fail("vocabulary training: {}", message);
}

}  // namespace

Subwords Subwords::train(std::span<const std::string> sentences, const SubwordOptions& options, const LogSink& sink) {
  check(options.vocabulary > 3, "vocabulary: expected more than the 3 special symbols, found {}", options.vocabulary);
  check(options.character_coverage > 0 && options.character_coverage <= 1,
        "character coverage: expected a share above 0 and up to 1, found {}", options.character_coverage);
  check(!options.byte_fallback || options.kind != SubwordKind::kWord,
        "byte-fallback: expected pieces of kind unigram, bpe or char, found word");
  check(std::any_of(sentences.begin(), sentences.end(), has_sign), "vocabulary training: expected text, found {} lines without any sign",
        sentences.size());
  Chunks chunks(sentences, options.lowercase);
  std::string bytes;
  const auto status = sentencepiece::SentencePieceTrainer::Train(arguments_of(options), &chunks, &bytes);
  if (!status.ok()) explain(reason_of(status), options);
  Subwords subwords = from_bytes(std::move(bytes), options.lowercase);
  if (sink && subwords.size() < options.vocabulary) {
    sink(LogLevel::kWarning,
         fmt::format("the text supports a vocabulary of {} pieces, not {}", subwords.size(), options.vocabulary));
  }
  return subwords;
}

}  // namespace jumok
