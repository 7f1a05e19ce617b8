// jumok lab: what the experiments have in common on the command line.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "program.h"

namespace jumok {
namespace {

namespace fs = std::filesystem;

TEST(Lab, WithoutANameTheExperimentsAreListed) {
  const Outcome o = run_jumok("lab");
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(o.err, "");
  for (const char* name :
       {"worked-example ", "scale ", "permutation ", "complexity ", "kv-cache ", "compare ", "bottleneck ", "gradient ", "heads "}) {
    EXPECT_NE(("\n" + o.out).find(std::string("\n") + name), std::string::npos) << name;
  }
}

TEST(Lab, AnUnknownNameIsWrongUsage) { EXPECT_EQ(run_jumok("lab scales").status, 2); }

TEST(Lab, PagesGoIntoAFolderOrAFile) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_jumok("lab worked-example --output '" + (folder / "new/pages") + "'").status, 0);
  EXPECT_TRUE(fs::exists(folder / "new/pages/worked-example.html"));
  EXPECT_EQ(run_jumok("lab worked-example --output '" + (folder / "page.html") + "'").status, 0);
  const std::string page = read_file(folder / "page.html");
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("src="), std::string::npos);
}

TEST(Lab, APlaceThatCannotBeWrittenIsSaidBeforeTheWork) {
  const Outcome o = run_jumok("lab compare --output /dev/null/pages");
  EXPECT_EQ(o.status, 1);
  EXPECT_EQ(o.out, "");
  EXPECT_NE(o.err.find("/dev/null/pages"), std::string::npos);
}

TEST(Lab, JsonIntoAFileLeavesTheTablesWhereTheyAre) {
  const TemporaryFolder folder;
  const Outcome o = run_jumok("lab worked-example --json '" + (folder / "numbers.json") + "'");
  ASSERT_EQ(o.status, 0);
  EXPECT_NE(o.out.find("0.793"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(read_file(folder / "numbers.json"))["experiment"], "worked-example");
  const Outcome bad = run_jumok("lab compare --json /dev/null/numbers.json");
  EXPECT_EQ(bad.status, 1);
  EXPECT_NE(bad.err.find("/dev/null/numbers.json"), std::string::npos);
}

// 0 is the preset's own width, and a setting has the last word: the report tells what was trained.
TEST(Lab, ScaleTellsTheWidthThatItsModelsHave) {
  const Outcome o = run_jumok(
      "lab scale --widths 4 --draws 10 --width 0 --set model.width=16 --updates 1 --batch-tokens 64 --pairs 20 --test-pairs 2 --quiet");
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_NE(o.out.find("one head, d_k = 16, "), std::string::npos) << o.out;
}

TEST(Lab, HeadsTellTheWidthThatTheyHave) {
  const Outcome o =
      run_jumok("lab heads --heads 2 --width 0 --set model.width=12 --updates 1 --batch-tokens 64 --pairs 20 --test-pairs 2 --quiet");
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_NE(o.out.find("Transformer of width 12 "), std::string::npos) << o.out;
  const size_t row = o.out.find("\n    2 ");
  ASSERT_NE(row, std::string::npos) << o.out;
  EXPECT_EQ(std::stoi(o.out.substr(row + 6)), 6) << o.out;
}

TEST(Lab, HeadsRefuseTheirNumberAsASettingOfAll) {
  const Outcome o = run_jumok("lab heads --set attention.heads=2 --updates 1");
  EXPECT_EQ(o.status, 2);
  EXPECT_NE(o.err.find("setting attention.heads=2: "), std::string::npos) << o.err;
}

// Said before the first of the models is trained, not when the turn of the one that cannot take it comes.
TEST(Lab, SettingsThatOneOfTheModelsCannotTakeAreWrongUsage) {
  const std::pair<const char*, const char*> wrong[] = {
      {"compare --only 'luong dot' --only transformer --set rnn.cell=gru", "transformer: --set: there is no setting \"rnn.cell\""},
      {"compare --set nothing=1", "there is no setting \"nothing\""},
      {"compare --only x", "mechanism \"x\""},
      {"heads --heads 2,3 --width 16", "3 heads: attention.heads = 3"},
      {"scale --set rnn.cell=gru", "with 1/√d_k: "},
      {"bottleneck --set rnn.cell=none", "rnn.cell"},
      {"gradient --length 5 --word 6", "from 1 to 5"},
      {"permutation --preset rnn-none", "rnn-none"},
      {"permutation --preset none", "none"},
      {"complexity --lengths 4,2", "rising"},
      {"kv-cache --preset rnn-none", "rnn-none"},
      {"explain --model none --source a --source b --source c", "found 3"},
      {"explain --model none --source ' '", "expected a sentence"},
      {"explain --model none --source a --target b --target c", "found 2 for 1"},
  };
  for (const auto& [options, part] : wrong) {
    const Outcome o = run_jumok("lab " + std::string(options));
    EXPECT_EQ(o.status, 2) << options;
    EXPECT_EQ(o.out, "") << options;
    EXPECT_NE(o.err.find(part), std::string::npos) << options << ": " << o.err;
  }
}

// One target is that of both sources; given twice, each source has its own.
TEST(Lab, ExplainTakesATargetForBothSourcesOrOneForEach) {
  const std::string run =
      "lab explain --json --quiet --attention decoder.layers.0.cross_attention --source '5 8' --source '5 9' --model '" +
      (fs::path(JUMOK_TEST_DATA).parent_path().parent_path() / "translate/data/reverse-digits").string() + "'";
  const auto targets = [&](const std::string& options) {
    const Outcome o = run_jumok(run + options);
    EXPECT_EQ(o.status, 0) << o.err;
    const auto sentences = nlohmann::json::parse(o.out)["sentences"];
    return std::pair<std::string, std::string>(sentences[0]["target"], sentences[1]["target"]);
  };
  EXPECT_EQ(targets(""), std::pair(std::string("8 5"), std::string("9 5")));
  EXPECT_EQ(targets(" --target '1 2'"), std::pair(std::string("1 2"), std::string("1 2")));
  EXPECT_EQ(targets(" --target '1 2' --target '3 4'"), std::pair(std::string("1 2"), std::string("3 4")));
}

// Names and settings of a dozen mechanisms: the terminal's lines are those of other text.
TEST(Lab, WhatCompareTrainedFitsTheTerminal) {
  const Outcome o = run_jumok(
      "lab compare --only 'luong dot' --only transformer --width 8 --updates 1 --batch-tokens 64 --pairs 20 --test-pairs 2 --threads 1 "
      "--quiet");
  ASSERT_EQ(o.status, 0) << o.err;
  const size_t begin = o.out.find("What was trained");
  ASSERT_NE(begin, std::string::npos) << o.out;
  std::istringstream lines(o.out.substr(begin));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("─")) continue;
    EXPECT_LE(line.size(), 104u) << line;  // "…" of the caption takes three bytes
  }
}

// The whole budget are other defaults: what is given counts, wherever it stands.
TEST(Lab, WhatIsGivenCountsBesideTheWholeBudget) {
  for (const char* line : {"--full --length 6 --sentences 2", "--length 6 --sentences 2 --full"}) {
    const Outcome o = run_jumok(std::string("lab gradient --width 8 --json --quiet ") + line);
    ASSERT_EQ(o.status, 0) << o.err;
    const auto json = nlohmann::json::parse(o.out);
    EXPECT_EQ(json["length"], 6);
    EXPECT_EQ(json["sentences"], 2);
  }
  const Outcome o = run_jumok("lab gradient --width 8 --full --full --length 6 --json --quiet");
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(nlohmann::json::parse(o.out)["sentences"], 32);
}

TEST(Lab, ScaleRefusesWhatIsAboutTrainingWhereNothingIsTrained) {
  for (const char* option : {"--source none", "--gold none", "--seconds 1", "--task copy", "--set model.width=16", "--test-pairs 3"}) {
    const Outcome o = run_jumok(std::string("lab scale --widths 4 --draws 1 --updates 0 ") + option);
    EXPECT_EQ(o.status, 2) << option;
    EXPECT_NE(o.err.find("not with --updates 0"), std::string::npos) << o.err;
  }
}

// 200 million draws of d_k = 65536 would take days.
TEST(Lab, ScaleSaysWhatIsWrongWithOwnTextBeforeItDraws) {
  const Outcome o =
      run_jumok("lab scale --widths 65536 --draws 10000000 --source /none/a --target /none/b --test-source /none/c --test-target /none/d");
  EXPECT_EQ(o.status, 1);
  EXPECT_NE(o.err.find("/none/a"), std::string::npos) << o.err;
}

TEST(Lab, GoldGoesWithOwnText) {
  const TemporaryFolder folder;
  std::ofstream(folder / "gold") << "0-0\n";
  const Outcome o = run_jumok("lab compare --gold '" + (folder / "gold") + "'");
  EXPECT_EQ(o.status, 2);
  EXPECT_NE(o.err.find("--test-target"), std::string::npos) << o.err;
  EXPECT_EQ(run_jumok("lab compare --gold-format naacl").status, 2);
  EXPECT_EQ(run_jumok("lab compare --gold-judge both").status, 2);
  EXPECT_EQ(run_jumok("lab compare --subwords char").status, 2);
}

// The attention is chosen on one set of links and judged on another; one without the other, or without its sentences, is wrong usage.
TEST(Lab, TheAttentionToJudgeIsChosenOnOtherPairs) {
  const TemporaryFolder folder;
  std::ofstream(folder / "text") << "a b\nb a\na a\n";
  std::ofstream(folder / "gold") << "0-0 1-1\n0-0 1-1\n0-0\n";
  std::ofstream(folder / "short") << "0-0 1-1\n";
  const auto file = [&](const char* option, const char* name) { return fmt::format(" {} '{}'", option, folder / name); };
  const std::string text =
      file("--source", "text") + file("--target", "text") + file("--test-source", "text") + file("--test-target", "text");
  const std::string run = "lab compare --only 'luong dot' --subwords word --width 8 --updates 1 --threads 1 --json --quiet" + text;
  const std::string pairs = file("--choose-source", "text") + file("--choose-target", "text");

  const Outcome o = run_jumok(run + file("--gold", "gold") + file("--choose", "gold") + pairs);
  ASSERT_EQ(o.status, 0) << o.err;
  const std::string attention = nlohmann::json::parse(o.out)["mechanisms"][0]["attention"];
  EXPECT_TRUE(attention == "input" || attention == "output") << attention;

  EXPECT_EQ(run_jumok(run + file("--choose", "gold") + pairs).status, 2);
  EXPECT_EQ(run_jumok(run + file("--gold", "gold") + file("--choose", "gold")).status, 2);
  EXPECT_EQ(run_jumok(run + file("--gold", "gold") + pairs).status, 2);
  const Outcome uneven = run_jumok(run + file("--gold", "gold") + file("--choose", "short") + pairs);
  EXPECT_EQ(uneven.status, 1);
  EXPECT_NE(uneven.err.find("short"), std::string::npos) << uneven.err;
}

TEST(Lab, OptionsOfTasksAndOfOwnTextAreNotIgnored) {
  const std::string text = " --source a --target b --test-source c --test-target d";
  for (const char* option :
       {"compare --task dates", "compare --pairs 5", "bottleneck --lengths 5", "bottleneck --test-pairs 3", "bottleneck --task copy"}) {
    EXPECT_EQ(run_jumok("lab " + std::string(option) + text).status, 2) << option;
  }
  EXPECT_EQ(run_jumok("lab bottleneck --bins 3,5").status, 2);
}

TEST(Lab, BottleneckRunsTheTasksNamed) {
  const std::string run = "lab bottleneck --only bahdanau --lengths 2 --updates 1 --pairs 9 --test-pairs 2 --json --quiet";
  const auto tasks = [&run](const std::string& options) {
    const auto result = nlohmann::json::parse(run_jumok(run + options).out);
    std::string names;
    for (const auto& part : result.at("parts")) names += part.at("text").get<std::string>() + " ";
    return names;
  };
  EXPECT_EQ(tasks(""), "copy reverse ");
  EXPECT_EQ(tasks(" --task reverse"), "reverse ");
  EXPECT_EQ(tasks(" --task reverse --task copy"), "copy reverse ");
  EXPECT_EQ(run_jumok(run + " --task dates").status, 2);
}

TEST(Lab, JsonIsOneObject) {
  const Outcome o = run_jumok("lab scale --widths 4,9 --keys 3 --draws 100 --updates 0 --json --quiet");
  ASSERT_EQ(o.status, 0);
  EXPECT_EQ(o.err, "");
  const auto j = nlohmann::json::parse(o.out);
  EXPECT_EQ(j["experiment"], "scale");
  EXPECT_EQ(j["keys"], 3);
  EXPECT_EQ(j["rows"][1]["d_k"], 9);
}

TEST(Lab, AnOwnExampleIsReadAndItsFaultsAreNamed) {
  const TemporaryFolder folder;
  std::ofstream(folder / "in.json") << R"({"embeddings": {"a": [1, 0], "b": [0, 1]}})";
  const Outcome good = run_jumok("lab worked-example --json --input '" + (folder / "in.json") + "'");
  ASSERT_EQ(good.status, 0);
  EXPECT_EQ(nlohmann::json::parse(good.out)["weights"].size(), 2u);
  std::ofstream(folder / "bad.json") << R"({"embeddings": {"a": []}})";
  const Outcome bad = run_jumok("lab worked-example --input '" + (folder / "bad.json") + "'");
  EXPECT_EQ(bad.status, 1);
  EXPECT_NE(bad.err.find("bad.json: embeddings.a: expected a list"), std::string::npos) << bad.err;
  EXPECT_EQ(run_jumok("lab worked-example --input '" + (folder / "none.json") + "'").status, 1);
}

}  // namespace
}  // namespace jumok
