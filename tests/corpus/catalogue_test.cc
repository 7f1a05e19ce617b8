// Catalogues: .mo bytes made by hand or by GNU msgfmt, .po texts with the syntax of the gettext manual.
#include "corpus/catalogue.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

#include "base/file.h"
#include "corpus/mo_catalogue.h"
#include "corpus/po_catalogue.h"
#include "jumok/error.h"

namespace jumok {
namespace {

using Strings = std::vector<std::pair<std::string, std::string>>;

void put(std::string& bytes, uint32_t value, bool big) {
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<char>(value >> (8 * (big ? 3 - i : i))));
}

// The format of the gettext manual, without a hash table.
std::string make_mo(const Strings& strings, bool big) {
  const auto n = static_cast<uint32_t>(strings.size());
  std::string bytes, ids, texts, data;
  for (const uint32_t word : {0x950412deU, 0U, n, 28U, 28 + 8 * n, 0U, 28 + 16 * n}) put(bytes, word, big);
  const auto add = [&](std::string& table, const std::string& text) {
    put(table, static_cast<uint32_t>(text.size()), big);
    put(table, 28 + 16 * n + static_cast<uint32_t>(data.size()), big);
    data += text + '\0';
  };
  for (const auto& [id, text] : strings) add(ids, id);
  for (const auto& [id, text] : strings) add(texts, text);
  return bytes + ids + texts + data;
}

const Strings kSample = {{"", "Language: ko\nContent-Type: text/plain; charset=UTF-8\n"},
                         {"Open", "열기"},
                         {"menu\x04Open", "메뉴 열기"},
                         {std::string("%d file\0%d files", 16), std::string("%d Datei\0%d Dateien", 19)}};

class ByteOrder : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Mo, ByteOrder, testing::Bool());

TEST_P(ByteOrder, ContextPluralAndHeaderAreSplit) {
  const Catalogue catalogue = read_mo(make_mo(kSample, GetParam()), "x.mo");
  EXPECT_EQ(header_field(catalogue.header, "language"), "ko");
  ASSERT_EQ(catalogue.messages.size(), 3U);
  EXPECT_FALSE(catalogue.messages[0].context.has_value());
  EXPECT_EQ(catalogue.messages[0].texts, std::vector<std::string>{"열기"});
  EXPECT_EQ(catalogue.messages[1].context, "menu");
  EXPECT_EQ(catalogue.messages[1].id, "Open");
  EXPECT_EQ(catalogue.messages[2].id_plural, "%d files");
  EXPECT_EQ(catalogue.messages[2].texts, (std::vector<std::string>{"%d Datei", "%d Dateien"}));
}

TEST_P(ByteOrder, CutAtEveryByteIsRefused) {
  const std::string bytes = make_mo(kSample, GetParam());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(read_mo(std::string(bytes.substr(0, size)), "x.mo"), Error) << size;
  }
}

TEST_P(ByteOrder, RandomDamageNeverReadsOutside) {
  std::mt19937 random(7);
  const std::string good = make_mo(kSample, GetParam());
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = good;
    for (int j = 0; j < 3; ++j) bytes[random() % bytes.size()] = static_cast<char>(random() % 3 == 0 ? 0xFF : random());
    try {
      (void)read_mo(bytes, "x.mo");
    } catch (const Error&) {
    }
  }
}

TEST(Mo, HugeCountsAndOffsetsDoNotWrapAround) {
  for (const size_t field : {8U, 12U, 16U, 28U, 32U}) {
    std::string bytes = make_mo(kSample, false);
    for (size_t i = 0; i < 4; ++i) bytes[field + i] = '\xFF';
    EXPECT_THROW(read_mo(bytes, "x.mo"), Error) << field;
  }
}

TEST(Mo, CharsetOfTheHeaderIsConverted) {
  const Catalogue catalogue =
      read_mo(make_mo({{"", "Content-Type: text/plain; charset=EUC-KR\n"}, {"Open", "\xBF\xAD\xB1\xE2"}}, false), "x.mo");
  EXPECT_EQ(catalogue.messages.at(0).texts.at(0), "열기");
  EXPECT_THROW(read_mo(make_mo({{"", "Content-Type: text/plain; charset=../../tmp/x\n"}, {"a", "b"}}, false), "x.mo"), Error);
}

// data/sample.mo and sample-be.mo are made from data/sample.po by "msgfmt -o sample.mo sample.po" and "msgfmt --endianness=big" (GNU
// gettext 0.21), so both of our readers are held to it.
TEST(Mo, ReadsWhatMsgfmtWritesLikeThePoItself) {
  const std::string folder = JUMOK_TEST_DATA;
  const Catalogue po = read_po(read_file(folder + "/sample.po"), "sample.po");
  for (const char* name : {"/sample.mo", "/sample-be.mo"}) {
    const Catalogue mo = read_mo(read_file(folder + name), name);
    EXPECT_EQ(mo.header, po.header);
    size_t confirmed = 0;
    for (const CatalogueMessage& message : po.messages) {
      if (message.fuzzy || message.texts.front().empty()) continue;  // msgfmt leaves these out
      ++confirmed;
      bool found = false;
      for (const CatalogueMessage& other : mo.messages) {
        found |= other.context == message.context && other.id == message.id && other.id_plural == message.id_plural &&
                 other.texts == message.texts;
      }
      EXPECT_TRUE(found) << message.id;
    }
    EXPECT_EQ(confirmed, 6U);
    EXPECT_EQ(mo.messages.size(), confirmed);
  }
}

TEST(Po, HeaderIsNeverTextAndGivesTheCharset) {
  const Catalogue catalogue = read_po(
      "# Comment\n# another\nmsgid \"\"\nmsgstr \"\"\n\"Language: ko\\n\"\n\"Content-Type: text/plain; charset=EUC-KR\\n\"\n\n"
      "msgid \"Open\"\nmsgstr \"\xBF\xAD\xB1\xE2\"\n\nmsgid \"a\"\nmsgstr \"b\"\n",
      "x.po");
  ASSERT_EQ(catalogue.messages.size(), 2U);
  EXPECT_EQ(catalogue.messages[0].texts[0], "열기");
  EXPECT_EQ(catalogue.messages[0].line, 8U);
  EXPECT_EQ(header_charset(catalogue.header), "EUC-KR");
}

TEST(Po, FuzzyGuessesAreMarkedAndPreviousTextsAndObsoleteEntriesAreNoText) {
  const Catalogue catalogue = read_po(
      "#, c-format, fuzzy\n#| msgid \"Old\"\nmsgid \"New\"\nmsgstr \"Alt\"\n\n#, c-format\nmsgid \"x\"\nmsgstr \"y\"\n\n"
      "#~ msgid \"Gone\"\n#~ msgstr \"Weg\"\n#, fuzzy\nmsgid \"one\"\nmsgid_plural \"many\"\nmsgstr[0] \"eins\"\nmsgstr[1] \"viele\"\n",
      "x.po");
  ASSERT_EQ(catalogue.messages.size(), 3U);
  EXPECT_TRUE(catalogue.messages[0].fuzzy);
  EXPECT_EQ(catalogue.messages[0].id, "New");
  EXPECT_FALSE(catalogue.messages[1].fuzzy);
  EXPECT_TRUE(catalogue.messages[2].fuzzy);
  EXPECT_EQ(catalogue.messages[2].texts.size(), 2U);
}

TEST(Po, EscapesAndBrokenUpStringsMakeOneText) {
  const Catalogue catalogue =
      read_po("msgid \"\"\r\n\"First\\n\"\r\n\"a \\\"b\\\" \\\\ \\t end\\n\"\r\nmsgstr \"\\x41\\102\" \"c\"\r\n", "x.po");
  ASSERT_EQ(catalogue.messages.size(), 1U);
  EXPECT_EQ(catalogue.messages[0].id, "First\na \"b\" \\ \t end\n");
  EXPECT_EQ(catalogue.messages[0].texts[0], "ABc");
}

TEST(Po, SameTextInDifferentContextsStaysApart) {
  const Catalogue catalogue = read_po(
      "\xEF\xBB\xBFmsgctxt \"menu\"\nmsgid \"Open\"\nmsgstr \"1\"\nmsgctxt \"state\"\nmsgid \"Open\"\nmsgstr \"2\"\nmsgid \"Open\"\nmsgstr "
      "\"3\"",
      "x.po");
  ASSERT_EQ(catalogue.messages.size(), 3U);
  EXPECT_EQ(catalogue.messages[0].context, "menu");
  EXPECT_EQ(catalogue.messages[1].context, "state");
  EXPECT_EQ(catalogue.messages[2].context, std::nullopt);
}

TEST(Po, FaultsAreToldWithFileAndLine) {
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"msgid \"a\"\nmsgstr \"b\n", "x.po:2:"},
      {"msgid \"a\"\n\nmsgid \"b\"\n", "x.po:3:"},
      {"\nfoo \"a\"\n", "x.po:2:"},
      {"msgid \"a\"\nmsgstr \"\\q\"\n", "x.po:2:"},
      {"\"a\"\n", "x.po:1:"},
      {"msgid \"a\"\nmsgstr[1] \"b\"\n", "x.po:2:"},
      {"msgid \"a\"\n", "x.po:1:"},
      {"msgid a\n", "x.po:1:"},
      {"msgid \"a\"\nmsgid_plural \"b\"\nmsgstr \"c\"\n", "x.po:3:"},
      {"msgid \"a\"\nmsgstr \"b\"\nmsgstr \"c\"\nmsgstr[99999999999999999999] \"d\"", "x.po:3:"}};
  for (const auto& [text, place] : faults) {
    try {
      (void)read_po(text, "x.po");
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find(place), 0U) << error.what();
    }
  }
}

TEST(Po, CutAtEveryByteNeverCrashes) {
  const std::string text = read_file(std::string(JUMOK_TEST_DATA) + "/sample.po");
  for (size_t size = 0; size < text.size(); ++size) {
    try {
      (void)read_po(text.substr(0, size), "x.po");
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace jumok
