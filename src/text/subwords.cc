#include "text/subwords.h"

#include <sentencepiece_processor.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "text/sentencepiece_reason.h"
#include "text/unicode.h"

namespace jumok {
namespace {

// Answers "which word is the first at or after byte b" for rising b, over the words of a text.
class WordFinder {
 public:
  explicit WordFinder(std::string_view text) : text_(text), words_(split_words(text)) {}

  int32_t at_or_after(size_t byte) {
    while (next_ < words_.size() && end(next_) <= byte) ++next_;
    return next_ < words_.size() ? static_cast<int32_t>(next_) : -1;
  }

 private:
  size_t end(size_t word) const { return static_cast<size_t>(words_[word].data() - text_.data()) + words_[word].size(); }

  std::string_view text_;
  std::vector<std::string_view> words_;
  size_t next_ = 0;
};

}  // namespace

struct Subwords::Model {
  std::string bytes;
  bool lowercase = false;
  sentencepiece::SentencePieceProcessor processor;
};

Subwords::Subwords(std::unique_ptr<const Model> model) : model_(std::move(model)) {}
Subwords::Subwords(Subwords&&) noexcept = default;
Subwords& Subwords::operator=(Subwords&&) noexcept = default;
Subwords::~Subwords() = default;

Subwords Subwords::from_bytes(std::string bytes, bool lowercase, std::string_view where) {
  auto model = std::make_unique<Model>();
  model->bytes = std::move(bytes);
  model->lowercase = lowercase;
  auto& processor = model->processor;
  check(!model->bytes.empty(), "{}: expected a SentencePiece model, found no bytes", where);
  // The status speaks of SentencePiece's source lines; all a user can know is that the bytes are none of its models.
  const bool loaded = processor.LoadFromSerializedProto(model->bytes).ok();
  check(loaded, "{}: expected a SentencePiece model, found {} bytes that are none, or a damaged one", where, model->bytes.size());
  check(processor.unk_id() == kUnknown && processor.bos_id() == kStart && processor.eos_id() == kEnd,
        "{}: expected a SentencePiece model with the unknown, start and end symbols at ids 0, 1, 2, found {}, {}, {}", where,
        processor.unk_id(), processor.bos_id(), processor.eos_id());
  return Subwords(std::move(model));
}

const std::string& Subwords::bytes() const { return model_->bytes; }
bool Subwords::lowercase() const { return model_->lowercase; }
int Subwords::size() const { return model_->processor.GetPieceSize(); }

std::string Subwords::piece(int32_t id) const {
  check(id >= 0 && id < size(), "piece: expected an id below {}, found {}", size(), id);
  return model_->processor.IdToPiece(id);
}

Encoded Subwords::encode(std::string_view line) const {
  // Neither step changes which bytes are white space, so words found in `text` are the words of the raw line.
  std::string text = clean_utf8(line);
  if (model_->lowercase) text = simple_lowercase(text);
  sentencepiece::ImmutableSentencePieceText result;
  const auto status = model_->processor.Encode(text, result.mutable_proto());
  if (!status.ok()) fail("encode: line of {} bytes: {}", line.size(), reason_of(status));
  Encoded encoded;
  WordFinder words(text);
  for (const auto& piece : result.pieces()) {
    const auto id = static_cast<int32_t>(piece.id());
    // A word model from elsewhere looks words up by their text, and so takes "</s>" for the end symbol.
    encoded.ids.push_back(id == kStart || id == kEnd ? kUnknown : id);
    encoded.word.push_back(words.at_or_after(piece.begin()));
  }
  return encoded;
}

std::string Subwords::decode(std::span<const int32_t> ids) const { return decode_words(ids).text; }

Decoded Subwords::decode_words(std::span<const int32_t> ids) const {
  std::vector<int> visible;
  std::vector<size_t> from;  // which of `ids` each of `visible` is
  for (size_t i = 0; i < ids.size(); ++i) {
    check(ids[i] >= 0 && ids[i] < size(), "decode: expected ids below {}, found {} at position {}", size(), ids[i], i);
    if (ids[i] == kStart || ids[i] == kEnd) continue;
    visible.push_back(ids[i]);
    from.push_back(i);
  }
  sentencepiece::ImmutableSentencePieceText result;
  const auto status = model_->processor.Decode(visible, result.mutable_proto());
  if (!status.ok()) fail("decode: {} ids: {}", ids.size(), reason_of(status));
  Decoded decoded;
  decoded.text = clean_utf8(result.text());
  decoded.word.assign(ids.size(), -1);
  WordFinder words(result.text());
  const auto pieces = result.pieces();
  for (size_t k = 0; k < std::min(pieces.size(), from.size()); ++k) decoded.word[from[k]] = words.at_or_after(pieces[k].begin());
  return decoded;
}

}  // namespace jumok
