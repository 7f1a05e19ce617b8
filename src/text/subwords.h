// Subword pieces (SentencePiece, Kudo and Richardson 2018): the vocabulary of a model, trained, stored, and applied both ways.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"

namespace jumok {

// The special symbols every vocabulary has. There is none for padding: batches are packed, nothing is padded.
inline constexpr int32_t kUnknown = 0, kStart = 1, kEnd = 2;

enum class SubwordKind { kUnigram, kBpe, kChar, kWord };
// How text is rewritten before it is cut. kNmtNfkc: NFKC, control characters out, all white space to spaces; kNfkc: NFKC only; kIdentity:
// nothing (a tab, for instance, is then unknown). A "▁" (U+2581) in text is a space in all of them.
enum class SubwordNormalization { kNmtNfkc, kNfkc, kIdentity };

struct SubwordOptions {
  SubwordKind kind = SubwordKind::kUnigram;
  // Pieces wanted, the three special symbols included. A text that supports fewer gives fewer, with a warning.
  int vocabulary = 8000;
  // Texts pass simple_lowercase first, at training and at every encode. Not part of bytes(): keep it beside them.
  bool lowercase = false;
  // Share of the text's characters that get a piece; rarer ones become unknown. 0.9995 suits large alphabets (Chinese, Japanese, Korean).
  double character_coverage = 1.0;
  SubwordNormalization normalization = SubwordNormalization::kNmtNfkc;
  // Keeps runs of spaces and spaces at either end (they are single and trimmed otherwise).
  bool keep_spaces = false;
  // 256 pieces for bytes, so that no character is unknown. They count in `vocabulary`.
  bool byte_fallback = false;
  // Texts that are always one piece ("@@1@@"), whatever stands around them. They count in `vocabulary`.
  std::vector<std::string> symbols;
};

// A piece sequence with, for each piece, the word (split_words, from 0) of the raw text it belongs to; -1 where there is none.
struct Encoded {
  std::vector<int32_t> ids;   // [T], no start or end symbol
  std::vector<int32_t> word;  // [T], never falling (-1 apart)
};
struct Decoded {
  std::string text;
  std::vector<int32_t> word;  // one entry per id: the word of `text`, -1 where the id gave no visible text
};

// Immutable; every const function may be called from any number of threads at once.
class Subwords {
 public:
  // Learns a vocabulary from all of the text, lines of any length included. Only U+2585 is never learnt, and "</s>" not as one piece. The
  // result depends on the sentences, their order and the options only, on no thread count and no random number. Throws Error where the
  // texts hold nothing but white space, or more characters than `vocabulary` has room for.
  static Subwords train(std::span<const std::string> sentences, const SubwordOptions& options, const LogSink& sink = {});
  // From the bytes of a SentencePiece model whose unknown, start and end symbols are 0, 1, 2 (its trainer's default). Throws Error
  // otherwise, in which `where` says what the bytes are: a path.
  static Subwords from_bytes(std::string bytes, bool lowercase, std::string_view where = "SentencePiece model");

  Subwords(Subwords&&) noexcept;
  Subwords& operator=(Subwords&&) noexcept;
  ~Subwords();

  // The SentencePiece model file.
  const std::string& bytes() const;
  bool lowercase() const;
  // Number of ids, special symbols included: V.
  int size() const;
  // The piece as the model writes it ("▁the"; "<unk>", "<s>", "</s>"). Throws Error for an id out of range.
  std::string piece(int32_t id) const;

  // A line is cleaned (clean_utf8), lowercased where so set, normalised and cut. Text never becomes kStart or kEnd, not even "</s>".
  // Words: a piece belongs to the word of the first character that it or what follows it stands for. So a lone "▁" goes with the word after
  // it, all bytes of a character and all parts of "…" → "..." with the word they came from; a word cut in several by the normalisation
  // stays one.
  Encoded encode(std::string_view line) const;
  // Byte pieces are joined to characters, kStart and kEnd skipped, kUnknown written as "⁇" (U+2047; with the
  // spaces that the model file says, for models trained elsewhere). Passes clean_utf8, so it is one line whatever
  // the ids.
  std::string decode(std::span<const int32_t> ids) const;
  Decoded decode_words(std::span<const int32_t> ids) const;

 private:
  struct Model;
  explicit Subwords(std::unique_ptr<const Model> model);
  std::unique_ptr<const Model> model_;
};

}  // namespace jumok
