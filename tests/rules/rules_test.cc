// The rules hold for this tree, and each of them can fail: the planted trees break one rule at a time.
#include "rules.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/error.h"
#include "base/file.h"
#include "layers.h"

namespace jumok::rules {
namespace {

namespace fs = std::filesystem;

const fs::path kTree = JUMOK_SOURCE;
const std::vector<std::string> kEverything = {"include", "src", "apps", "tests", "bench", "examples"};

std::string list(const Breaches& breaches) {
  std::string text = fmt::format("{} breaches", breaches.size());
  for (const std::string& breach : breaches) text += "\n  " + breach;
  return text;
}

TEST(Rules, ThereIsSourceToCheck) { EXPECT_GT(read_sources(kTree, kEverything).size(), 30u); }

TEST(Rules, EveryIncludeKeepsTheOrderOfTheLayers) {
  const Breaches breaches = check_includes(kTree, project_layers());
  EXPECT_TRUE(breaches.empty()) << list(breaches);
}

TEST(Rules, FilesAndFunctionsStayShort) {
  Limits limits;
  limits.exceptions = read_exceptions(kTree / "tests/rules/exceptions.txt");
  const Breaches breaches = check_sizes(read_sources(kTree, kEverything), limits);
  EXPECT_TRUE(breaches.empty()) << list(breaches);
}

TEST(Rules, TheLibraryNeverPrintsOrExits) {
  const Breaches breaches = check_silence(read_sources(kTree, {"include", "src"}));
  EXPECT_TRUE(breaches.empty()) << list(breaches);
}

TEST(Rules, HeadersAreGuardedAndNothingIsMarkedUnfinished) {
  const Breaches breaches = check_hygiene(read_sources(kTree, kEverything));
  EXPECT_TRUE(breaches.empty()) << list(breaches);
}

// A small tree of its own, removed at the end.
class PlantedTree : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "jumok-rules-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    tree_ = name;
  }
  void TearDown() override { fs::remove_all(tree_); }
  void plant(const std::string& path, const std::string& text) {
    make_folder((tree_ / path).parent_path());
    std::ofstream(tree_ / path) << text;
  }
  Breaches includes(const std::string& path, const std::string& text) {
    plant(path, text);
    return check_includes(tree_, project_layers());
  }
  Breaches silence(const std::string& text) {
    plant("src/base/a.cc", text);
    return check_silence(read_sources(tree_, {"src"}));
  }
  Breaches sizes(const std::string& path, const std::string& text, Limits limits = {}) {
    plant(path, text);
    return check_sizes(read_sources(tree_, {"src"}), limits);
  }
  fs::path tree_;
};

TEST_F(PlantedTree, AnIncludeUpwardsIsFoundWithFileAndLine) {
  EXPECT_EQ(includes("src/kernels/a.cc", "#include <vector>\n\n#include \"tensor/tensor.h\"\n"),
            Breaches{"src/kernels/a.cc:3: src/kernels may not include tensor/tensor.h"});
}

TEST_F(PlantedTree, AnIncludeUpwardsInSubfoldersAndOddSpellingIsFound) {
  EXPECT_EQ(includes("src/kernels/ref/a.h", "  #  include  \"models/config.h\"  // why\n").size(), 1u);
}

TEST_F(PlantedTree, OutsideLibrariesAreFoundOutsideTheirFolder) {
  EXPECT_EQ(includes("src/nn/a.cc", "#include <dnnl.hpp>\n").size(), 1u);
  EXPECT_EQ(includes("src/tensor/a.cc", "#include <hwy/highway.h>\n").size(), 2u);
  EXPECT_EQ(includes("src/models/a.cc", "#include <sentencepiece_processor.h>\n").size(), 3u);
  EXPECT_EQ(includes("src/corpus/a.cc", "#include \"utf8proc.h\"\n#include <utf8proc.h>\n").size(), 4u);
  EXPECT_EQ(includes("src/base/a.cc", "#include <nlohmann/json.hpp>\n").size(), 5u);
  EXPECT_EQ(includes("src/lab/a.cc", "#include <CLI/CLI.hpp>\n").size(), 6u);
  EXPECT_EQ(includes("include/jumok/a.h", "#include <fmt/format.h>\n#include \"base/error.h\"\n").size(), 8u);
  EXPECT_EQ(includes("apps/cli/a.cc", "#include \"kernels/rows.h\"\n").size(), 9u);
}

TEST_F(PlantedTree, WhatIsAllowedIsNotFound) {
  plant("src/gemm/a.cc",
        "#include \"gemm/a.h\"\n#include <dnnl.hpp>\n#include <cstdint>\n#include \"base/error.h\"\n#include <fmt/format.h>\n");
  plant("src/kernels/a.cc",
        "#include \"hwy/foreach_target.h\"\n#include <hwy/highway.h>\n#include \"kernels/lanes-inl.h\"\n#include <unistd.h>\n");
  plant("apps/cli/a.cc", "#include <CLI/CLI.hpp>\n#include \"commands.h\"\n#include <jumok/error.h>\n#include \"lab/bench.h\"\n");
  EXPECT_EQ(check_includes(tree_, project_layers()), Breaches{});
}

TEST_F(PlantedTree, AFolderWithoutALayerIsFound) {
  EXPECT_EQ(includes("src/helpers/a.cc", ""), Breaches{"src/helpers: stands in no layer"});
}

std::string lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "  x += 1;\n";
  return text;
}

TEST_F(PlantedTree, LongFilesAreFound) {
  EXPECT_EQ(sizes("src/base/a.cc", lines(400)), Breaches{});
  EXPECT_EQ(sizes("src/base/a.cc", lines(401)), Breaches{"src/base/a.cc: 401 lines, at most 400 are allowed"});
}

TEST_F(PlantedTree, LongFunctionsAreFoundWithTheirName) {
  EXPECT_EQ(sizes("src/base/a.cc", "int f(int x) {\n" + lines(58) + "}\n"), Breaches{});
  EXPECT_EQ(sizes("src/base/a.cc", "namespace a {\n// why\nint f(int x) {\n" + lines(59) + "}\n}\n"),
            Breaches{"src/base/a.cc:3: f: 61 lines, at most 60 are allowed"});
}

TEST_F(PlantedTree, LongMembersConstructorsAndTestsAreFound) {
  const auto name_of = [&](const std::string& head) {
    const Breaches found = sizes("src/base/a.cc", head + lines(60) + "}\n};\n");
    return found.size() == 1 ? found[0].substr(0, found[0].find(": 62 lines")) : list(found);
  };
  EXPECT_EQ(name_of("class A {\n public:\n  void g() const {\n"), "src/base/a.cc:3: g");
  EXPECT_EQ(name_of("class A : public B {\n private:\n  A(int a) : a_{a}, b_(1) {\n"), "src/base/a.cc:3: A");
  EXPECT_EQ(name_of("namespace a {\nvoid B::f(X x = {}, Y y = {}) {\n"), "src/base/a.cc:2: B::f");
  EXPECT_EQ(name_of("namespace a {\n#define M(x) if (x) { \\\n  y(); {\nTEST(Suite, Name) {\n"), "src/base/a.cc:4: Suite.Name");
}

TEST_F(PlantedTree, BracesInCommentsAndLiteralsDoNotCount) {
  const std::string text =
      "void f() {\n  // {\n  g(\"{\", '{', U'{', u8\"{\", R\"({\")\", 1'000'000, 0x1'0p1);  /* { */\n}\nvoid h() {\n}\n";
  const auto functions = find_functions(blank_comments_and_literals(text));
  ASSERT_EQ(functions.size(), 2u);
  EXPECT_EQ(functions[0].last, 4);
  EXPECT_EQ(functions[1].name, "h");
  EXPECT_EQ(functions[1].first, 5);
}

TEST_F(PlantedTree, ExceptionsCoverWhatTheyNameAndAreFoundWhenNotNeeded) {
  Limits limits;
  limits.exceptions = {{"src/base/a.cc f", "a table"}};
  EXPECT_EQ(sizes("src/base/a.cc", "int f() {\n" + lines(100) + "}\n", limits), Breaches{});
  EXPECT_EQ(sizes("src/base/a.cc", "int f() {\n}\n", limits), Breaches{"src/base/a.cc f: the exception (a table) is not needed any more"});
}

TEST_F(PlantedTree, AnExceptionNeedsAReason) {
  plant("exceptions.txt", "# why\nsrc/base/a.cc f: a table\n");
  EXPECT_EQ(read_exceptions(tree_ / "exceptions.txt").at("src/base/a.cc f"), "a table");
  plant("exceptions.txt", "src/base/a.cc f:\n");
  EXPECT_THROW(read_exceptions(tree_ / "exceptions.txt"), Error);
}

TEST_F(PlantedTree, PrintingAndExitingAreFound) {
  for (const char* code : {"std::cout << 1;", "  std::cerr<<1;", "printf(\"x\");", "std::printf (\"x\");", "fputs(text, stderr);",
                           "::exit(1);", "std::abort();", "if (bad) exit(1);", "fmt::print(\"x\");", "std::terminate();"}) {
    EXPECT_EQ(silence(std::string(code) + "\n").size(), 1u) << code;
  }
}

TEST_F(PlantedTree, WordsThatOnlyLookLikePrintingAreNotFound) {
  for (const char* code : {"// exit(1) would be wrong", "fail(\"printf(\");", "snprintf(buffer, 3, f);", "stop.abort();", "loop->exit();",
                           "on_exit(1);", "log::puts(1);", "int printed = 0;"}) {
    EXPECT_EQ(silence(std::string(code) + "\n"), Breaches{}) << code;
  }
}

TEST_F(PlantedTree, UnguardedHeadersAndMarksOfUnfinishedWorkAreFound) {
  plant("src/base/a.h", "// Only a comment: #pragma once\nint f();\n");
  plant("src/base/b.cc", std::string("// TO") + "DO: later\n");
  EXPECT_EQ(check_hygiene(read_sources(tree_, {"src"})),
            (Breaches{"src/base/a.h: has no #pragma once", "src/base/b.cc:1: unfinished work is not committed"}));
}

}  // namespace
}  // namespace jumok::rules
