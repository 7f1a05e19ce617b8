#include "text/subwords.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "base/file.h"
#include "jumok/error.h"
#include "text/lines.h"
#include "text/unicode.h"

namespace jumok {
namespace {

using namespace std::string_literals;
using Lines = std::vector<std::string>;
using Ids = std::vector<int32_t>;

constexpr SubwordKind kKinds[] = {SubwordKind::kUnigram, SubwordKind::kBpe, SubwordKind::kChar, SubwordKind::kWord};

Lines toy_lines() {
  Lines lines;
  for (int i = 0; i < 10; ++i) {
    for (const auto* line : {"the cat sat on the mat", "the dog sat on the log", "a cat and a dog", "a/s <tag> unk nu", "x y z ... 1 2"})
      lines.push_back(line);
  }
  return lines;
}

Subwords toy(SubwordOptions options = {}) {
  if (options.vocabulary == SubwordOptions{}.vocabulary) options.vocabulary = options.byte_fallback ? 400 : 60;
  return Subwords::train(toy_lines(), options);
}

// Trained by Python's sentencepiece 0.2.3; tests/text/data/make_toy_spm.py.
Subwords from_python() { return Subwords::from_bytes(read_file(JUMOK_TEST_DATA "/toy.spm"), false); }

std::vector<std::string> pieces_of(const Subwords& subwords, const std::string& line) {
  std::vector<std::string> pieces;
  for (const int32_t id : subwords.encode(line).ids) pieces.push_back(subwords.piece(id));
  return pieces;
}

std::string error_of(const Lines& lines, const SubwordOptions& options) {
  try {
    Subwords::train(lines, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Subwords, AModelTrainedElsewhereEncodesAsThere) {
  const auto subwords = from_python();
  EXPECT_EQ(subwords.size(), 330);
  EXPECT_EQ(subwords.encode("the newest   cat").ids, (Ids{270, 294, 261, 275}));
  EXPECT_EQ(subwords.encode("x@@1@@y").ids, (Ids{315, 124, 3, 125}));
  EXPECT_EQ(subwords.encode("@@1@@@@1@@").ids, (Ids{315, 3, 3}));
  EXPECT_EQ(subwords.encode("@@1@").ids, (Ids{315, 68, 68, 53, 68}));
  EXPECT_EQ(subwords.encode("</s> dog").ids, (Ids{315, 64, 51, 324, 66, 286}));
  EXPECT_EQ(subwords.encode("\U0001F600 low").ids, (Ids{315, 244, 163, 156, 132, 287}));
  for (const auto* line : {"the newest   cat", "x@@1@@y", "@@1@@@@1@@", "@@1@", "</s> dog", "\U0001F600 low"}) {
    EXPECT_EQ(subwords.decode(subwords.encode(line).ids), line);
  }
}

TEST(Subwords, APieceOfThreeSpacesIsThreeSpaces) {
  const auto subwords = from_python();
  EXPECT_EQ(subwords.piece(261), "\u2581\u2581\u2581");
  EXPECT_EQ(subwords.decode(Ids{270, 261, 275}), "the   cat");
}

TEST(Subwords, BytePiecesAreJoinedToCharactersAndNeverBreakTheLine) {
  const auto subwords = from_python();
  EXPECT_EQ(subwords.decode(Ids{315, 92, 244, 163, 156, 132}), "X\U0001F600");
  EXPECT_EQ(subwords.decode(Ids{270, 14, 275}), "the cat");                   // <0x0A>
  EXPECT_EQ(subwords.decode(Ids{270, 244, 163, 275}), "the\uFFFD\uFFFDcat");  // half a character
  EXPECT_EQ(subwords.piece(14), "<0x0A>");
}

TEST(Subwords, StartAndEndAreSkippedAndIdsOutOfRangeRefused) {
  const auto subwords = from_python();
  EXPECT_EQ(subwords.decode(Ids{kStart, 270, kEnd, 286, kEnd}), "the dog");
  EXPECT_EQ(subwords.decode(Ids{}), "");
  EXPECT_EQ(subwords.decode(Ids{kEnd}), "");
  EXPECT_THROW(subwords.decode(Ids{330}), Error);
  EXPECT_THROW(subwords.decode(Ids{-1}), Error);
  EXPECT_THROW(subwords.piece(330), Error);
}

TEST(Subwords, SpacesAreSingleAndTrimmedUnlessKept) {
  for (const auto kind : {SubwordKind::kUnigram, SubwordKind::kBpe, SubwordKind::kChar}) {
    const auto single = toy({.kind = kind});
    EXPECT_EQ(single.decode(single.encode("  the  cat   sat ").ids), "the cat sat");
    const auto kept = toy({.kind = kind, .normalization = SubwordNormalization::kIdentity, .keep_spaces = true});
    EXPECT_EQ(kept.decode(kept.encode("  the  cat   sat ").ids), "  the  cat   sat ");
    // What the flag says is in the model, not beside it.
    const auto again = Subwords::from_bytes(kept.bytes(), false);
    EXPECT_EQ(again.decode(again.encode(" a  cat ").ids), " a  cat ");
  }
}

TEST(Subwords, ASpaceMarkInTextIsASpaceAndWordsAgreeWithTheRawLine) {
  for (const auto kind : kKinds) {
    for (const auto normalization : {SubwordNormalization::kNmtNfkc, SubwordNormalization::kIdentity}) {
      const auto subwords = toy({.kind = kind, .normalization = normalization});
      const auto encoded = subwords.encode("x\u2581y y");
      const auto decoded = subwords.decode_words(encoded.ids);
      EXPECT_EQ(decoded.text, "x y y");
      EXPECT_EQ(decoded.word.front(), 0);
      EXPECT_EQ(decoded.word.back(), 2);  // of the decoded text, which has three words
      EXPECT_EQ(encoded.word.front(), 0);
      EXPECT_EQ(encoded.word.back(), 1);  // of the raw line, which has two
      EXPECT_TRUE(std::is_sorted(encoded.word.begin(), encoded.word.end()));
    }
  }
}

TEST(Subwords, TextThatLooksLikeAControlSymbolIsText) {
  // Every character of the symbols must be learnt from the symbols themselves.
  const Lines lines(50, "cat </s> <s> <unk> <pad> </s>");
  for (const auto kind : kKinds) {
    for (const auto normalization : {SubwordNormalization::kNmtNfkc, SubwordNormalization::kIdentity}) {
      const auto subwords = Subwords::train(lines, {.kind = kind, .vocabulary = 80, .normalization = normalization});
      for (const auto* line : {"</s>", "<s>", "<unk>", "<pad>", "</s></s> <s>cat</s>", " </s> "}) {
        const auto ids = subwords.encode(line).ids;
        EXPECT_FALSE(ids.empty());
        EXPECT_EQ(std::count(ids.begin(), ids.end(), kStart) + std::count(ids.begin(), ids.end(), kEnd), 0) << line;
        if (kind != SubwordKind::kWord) {
          EXPECT_EQ(std::count(ids.begin(), ids.end(), kUnknown), 0) << line;
        }
      }
      // As a whole word, "</s>" is left out of a word vocabulary.
      EXPECT_EQ(subwords.decode(subwords.encode("<pad> </s>").ids), kind == SubwordKind::kWord ? "<pad> \u2047" : "<pad> </s>");
    }
  }
}

TEST(Subwords, WithByteFallbackNoCharacterIsUnknown) {
  const auto subwords = toy({.byte_fallback = true});
  for (const auto* line : {"\U0001F600 \U0001F1F0\U0001F1F7", "ᚠᛇᚻ ꦗꦮ", "東京 한국어", "é"}) {
    const auto ids = subwords.encode(line).ids;
    EXPECT_EQ(std::count(ids.begin(), ids.end(), kUnknown), 0) << line;
    EXPECT_EQ(subwords.decode(ids), line);
  }
}

TEST(Subwords, ALineBreakInALibraryCallIsASpace) {
  for (const auto normalization : {SubwordNormalization::kNmtNfkc, SubwordNormalization::kIdentity}) {
    const auto subwords = toy({.normalization = normalization});
    EXPECT_EQ(subwords.encode("the\ncat").ids, subwords.encode("the cat").ids);
    EXPECT_EQ(subwords.decode(subwords.encode("the\r\ncat\u2028sat").ids), "the cat sat");
  }
}

TEST(Subwords, SymbolsAreOnePieceEach) {
  for (const auto kind : {SubwordKind::kUnigram, SubwordKind::kBpe, SubwordKind::kChar}) {
    const auto subwords =
        Subwords::train(toy_lines(), {.kind = kind, .vocabulary = 400, .byte_fallback = true, .symbols = {"@@1@@", "a,\"b"}});
    for (const auto& [line, count] : {std::pair{"x@@1@@y"s, 1}, {"@@1@@@@1@@"s, 2}, {"@@1@"s, 0}}) {
      const auto pieces = pieces_of(subwords, line);
      EXPECT_EQ(std::count(pieces.begin(), pieces.end(), "@@1@@"), count) << line;
      EXPECT_EQ(subwords.decode(subwords.encode(line).ids), line);
    }
    const auto pieces = pieces_of(subwords, "xa,\"by");
    EXPECT_EQ(std::count(pieces.begin(), pieces.end(), "a,\"b"), 1);
  }
  EXPECT_NE(error_of(toy_lines(), {.vocabulary = 60, .symbols = {"</s>"}}), "");
}

TEST(Subwords, EveryPieceKnowsItsWord) {
  const auto subwords = toy({.kind = SubwordKind::kChar});
  // "▁ t h e ▁ c a t": a lone mark goes with the word after it; double, ideographic and no-break spaces are one gap.
  for (const auto* line : {"the cat", "  the  cat ", "the\u3000cat", "the\u00A0\u2003cat", "\uFEFF the cat"}) {
    const auto encoded = subwords.encode(line);
    const auto first = line == "\uFEFF the cat"s ? 1 : 0;  // an invisible word of its own
    EXPECT_EQ(encoded.word, (std::vector<int32_t>{first, first, first, first, first + 1, first + 1, first + 1, first + 1})) << line;
  }
  // Three pieces for one character, three for the other: all belong to the word they came from.
  EXPECT_EQ(subwords.encode("x \u2026 \u00BD").word, (std::vector<int32_t>{0, 0, 1, 1, 1, 1, 2, 2, 2, 2}));
  // A bad byte or NUL is part of its word, though the normalisation cuts there.
  EXPECT_EQ(subwords.encode("a\0t dog"s).word, (std::vector<int32_t>{0, 0, 0, 0, 1, 1, 1, 1}));
}

TEST(Subwords, WordsAreThoseOfTheRawLineWhenLowercasingChangesLengths) {
  SubwordOptions options{.kind = SubwordKind::kChar, .lowercase = true};
  const auto subwords = toy(options);
  EXPECT_TRUE(subwords.lowercase());
  EXPECT_EQ(subwords.encode("THE CAT").ids, subwords.encode("the cat").ids);
  EXPECT_EQ(subwords.encode("\u212A\u212A CAT").word,
            (std::vector<int32_t>{0, 0, 0, 1, 1, 1, 1}));  // ▁ k k: three bytes each before, one after
}

TEST(Subwords, DecodedPiecesKnowTheirWord) {
  const auto subwords = from_python();
  const auto decoded = subwords.decode_words(Ids{kStart, 270, 294, 275, 286, 315, 244, 163, 156, 132, kEnd});
  EXPECT_EQ(decoded.text, "the newestcat dog \U0001F600");
  EXPECT_EQ(decoded.word, (std::vector<int32_t>{-1, 0, 1, 1, 2, 3, 3, 3, 3, 3, -1}));
}

TEST(Subwords, BlankLinesHaveNoPieces) {
  for (const auto kind : kKinds) {
    const auto subwords = toy({.kind = kind});
    for (const auto* blank : {"", " ", "   ", "\t", "\u00A0", "\u3000", "\u200B", "\uFEFF"})
      EXPECT_TRUE(subwords.encode(blank).ids.empty()) << blank;
  }
}

TEST(Subwords, TheVocabularyShrinksToTheTextAndSaysSo) {
  for (const auto kind : kKinds) {
    std::vector<std::string> warnings;
    const auto subwords = Subwords::train(toy_lines(), {.kind = kind, .vocabulary = 8000}, [&](LogLevel level, const std::string& text) {
      EXPECT_EQ(level, LogLevel::kWarning);
      warnings.push_back(text);
    });
    EXPECT_LT(subwords.size(), 200);
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find(std::to_string(subwords.size())), std::string::npos);
    EXPECT_NE(warnings[0].find("8000"), std::string::npos);
    EXPECT_EQ(subwords.piece(kUnknown), "<unk>");
    EXPECT_EQ(subwords.piece(kStart), "<s>");
    EXPECT_EQ(subwords.piece(kEnd), "</s>");
  }
}

TEST(Subwords, TooSmallAVocabularyAndTextWithoutSignsAreRefused) {
  const auto error = error_of({"hello"}, {.vocabulary = 5});
  EXPECT_NE(error.find("at least 8"), std::string::npos) << error;  // h e l o ▁ and three symbols
  EXPECT_NE(error.find("found 5"), std::string::npos) << error;
  for (const auto kind : kKinds) {
    for (const Lines& lines :
         {Lines{}, Lines{""}, Lines{" \u3000"}, Lines{"\x01\x02"}, Lines{"\uFFFD\uFEFF"}, Lines{"\u2585\u2581"}, Lines{"\0"s}}) {
      EXPECT_NE(error_of(lines, {.kind = kind, .vocabulary = 100}), "");
    }
  }
  EXPECT_NE(error_of({"a"}, {.vocabulary = 3}), "");
  EXPECT_NE(error_of({"a"}, {.vocabulary = 10, .character_coverage = 1.5}), "");
  EXPECT_NE(error_of({"a"}, {.kind = SubwordKind::kWord, .vocabulary = 400, .byte_fallback = true}), "");
}

TEST(Subwords, TinyCorporaWork) {
  for (const auto kind : kKinds) {
    for (const Lines& lines : {Lines{"a"}, Lines{"hello"}, Lines{"", "a b", ""}, Lines{"\U0001F642"}, Lines{"aaaaaaaaaaaaaaaaaaaaaaaa"}}) {
      const auto subwords = Subwords::train(lines, {.kind = kind, .vocabulary = 100});
      for (const auto& line : lines) EXPECT_EQ(subwords.decode(subwords.encode(line).ids), line);
    }
  }
}

// The trainer on its own drops lines above 4192 bytes, stops the program at words above 65535 characters (BPE) and drops lines with U+2585.
TEST(Subwords, NoTextIsDroppedInTraining) {
  std::string spaced(5000, 'x');
  for (int i = 0; i < 5000; ++i) spaced += " q";
  const Lines lines = {"a b c", std::string(70000, 'y') + "z", spaced, "rare \u2585 w", "ab\0vu"s, "bad \xFFj"};
  for (const auto kind : {SubwordKind::kUnigram, SubwordKind::kBpe, SubwordKind::kChar}) {
    const auto subwords = Subwords::train(lines, {.kind = kind, .vocabulary = 120});
    for (const auto* line : {"y", "z", "x", "q", "w", "v", "u", "j"}) {
      const auto ids = subwords.encode(line).ids;
      EXPECT_EQ(std::count(ids.begin(), ids.end(), kUnknown), 0) << line;
    }
    EXPECT_EQ(subwords.decode(subwords.encode(lines[1]).ids), lines[1]);
    EXPECT_EQ(subwords.decode(subwords.encode("rare w \u2585").ids), "rare w \u2047");
  }
}

TEST(Subwords, TrainingTwiceGivesTheSameBytesAndNeverPrints) {
  for (const auto kind : kKinds) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const auto once = toy({.kind = kind}).bytes();
    const auto twice = toy({.kind = kind}).bytes();
    EXPECT_THROW(Subwords::from_bytes(once.substr(0, once.size() / 2), false), Error);
    EXPECT_NE(error_of({"hello"}, {.kind = SubwordKind::kBpe, .vocabulary = 5}), "");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
    EXPECT_EQ(once, twice);
  }
}

TEST(Subwords, WhatIsNoModelIsRefused) {
  for (const auto& bytes : {""s, "text\n"s, std::string(1000, '\0'), "PK\x03\x04"s})
    EXPECT_THROW(Subwords::from_bytes(bytes, false), Error);
}

TEST(Subwords, ManyThreadsEncodeAlike) {
  const auto subwords = toy();
  const auto lines = toy_lines();
  std::vector<Ids> expected;
  for (const auto& line : lines) expected.push_back(subwords.encode(line).ids);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 20; ++round) {
        for (size_t i = 0; i < lines.size(); ++i) {
          const auto ids = subwords.encode(lines[i]).ids;
          wrong[static_cast<size_t>(t)] += ids != expected[i] || subwords.decode(ids) != lines[i];
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(Subwords, RealTextComesBack) {
  const char* data = std::getenv("JUMOK_DATA");
  if (data == nullptr) GTEST_SKIP() << "JUMOK_DATA is not set: no real text";
  auto lines = read_lines(std::string(data) + "/multi30k/train.de.gz");
  lines.resize(2000);
  const auto subwords = Subwords::train(lines, {.vocabulary = 1000, .normalization = SubwordNormalization::kIdentity, .keep_spaces = true});
  EXPECT_EQ(subwords.size(), 1000);
  for (const auto& line : lines) {
    const auto encoded = subwords.encode(line);
    ASSERT_EQ(subwords.decode(encoded.ids), line);
    const auto words = static_cast<int32_t>(split_words(line).size());
    ASSERT_EQ(*std::max_element(encoded.word.begin(), encoded.word.end()), words - 1) << line;
    ASSERT_EQ(subwords.decode_words(encoded.ids).word, encoded.word) << line;
  }
}

// SentencePiece's own words name lines of its source.
TEST(Subwords, ADamagedModelIsRefusedInPlainWordsThatNameIt) {
  for (const std::string& bytes : {std::string(), std::string("text"), std::string("\x0a\xff\xff\xff\xff", 5)}) {
    try {
      Subwords::from_bytes(bytes, false, "a.spm");
      ADD_FAILURE() << "no Error";
    } catch (const Error& e) {
      const std::string text = e.what();
      EXPECT_TRUE(text.starts_with("a.spm: expected a SentencePiece model, found ")) << text;
      EXPECT_EQ(text.find(".cc"), std::string::npos) << text;
    }
  }
}

}  // namespace
}  // namespace jumok
