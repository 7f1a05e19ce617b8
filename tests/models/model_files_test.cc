#include "models/model_files.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>

#include "base/error.h"
#include "base/file.h"
#include "base/rng.h"

namespace jumok {
namespace {
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::shared_ptr<const Subwords> subwords_of(const std::string& letters) {
  SubwordOptions options;
  options.kind = SubwordKind::kChar;
  options.vocabulary = 40;
  return std::make_shared<const Subwords>(Subwords::train(std::vector<std::string>(4, letters), options));
}
const std::shared_ptr<const Subwords>& first() {
  static const auto subwords = subwords_of("abc def ghi");
  return subwords;
}
const std::shared_ptr<const Subwords>& second() {
  static const auto subwords = subwords_of("vwxyz");
  return subwords;
}

// A model directory of its own for each test; joint vocabulary and tied embeddings unless changed.
class ModelFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "jumok-models-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    config_.encoder_layers = config_.decoder_layers = 1;
    config_.width = 8;
    config_.heads = 2;
    config_.feed_forward_width = 512;  // rows of 512 floats have padding behind them in the block, and none in the file
    config_.max_positions = 16;
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const SubwordPair& subwords) {
    config_.source_vocabulary = subwords.source->size();
    config_.target_vocabulary = subwords.target->size();
    const auto model = make_model(config_);
    block_.assign(model->layout().size(), 0.0f);
    Rng rng(7);
    for (const auto& e : model->layout().entries()) {
      const Parameter& p = e.parameter;
      for (int64_t i = 0; i < p.rows * p.columns; ++i) {
        const auto bits = static_cast<uint32_t>(rng.bits());  // any bits at all: NaN, subnormal numbers and -0 among them
        std::memcpy(&block_[p.offset + i / p.columns * p.stride + i % p.columns], &bits, sizeof bits);
      }
    }
    write_config(folder_, config_, subwords, {{"preset", "none"}});
    write_parameters(weights(), model->layout(), block_.data());
  }
  void write() { write({first(), first()}); }

  fs::path weights() const { return folder_ / "model.safetensors"; }
  fs::path config_path() const { return folder_ / "config.json"; }

  // Without write_file's syncs, which would take most of the test's time.
  static void put(const fs::path& path, std::string_view bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  void edit_config(const std::function<void(Json&)>& edit) {
    Json j = Json::parse(read_file(config_path()));
    edit(j);
    put(config_path(), j.dump());
  }
  using Tensors = std::vector<NamedTensor>;
  void edit_tensors(const std::function<void(Tensors&)>& edit) {
    const SafetensorsFile file = SafetensorsFile::read(weights());
    Tensors tensors = file.tensors();
    edit(tensors);
    put(weights(), safetensors_bytes(tensors));
  }
  static NamedTensor& named(Tensors& tensors, const std::string& name) {
    return *std::find_if(tensors.begin(), tensors.end(), [&](const NamedTensor& t) { return t.name == name; });
  }

  // load_model throws one line that begins with `where` and holds each of `words`.
  void expect_refused(const fs::path& where, const std::vector<std::string>& words) const {
    std::string text = "nothing thrown";
    try {
      load_model(folder_);
    } catch (const Error& e) {
      text = e.what();
    }
    EXPECT_TRUE(text.starts_with(where.string() + ":")) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    for (const std::string& word : words) EXPECT_NE(text.find(word), std::string::npos) << "no '" << word << "' in: " << text;
  }

  fs::path folder_;
  ModelConfig config_;
  std::vector<float> block_;
};

TEST_F(ModelFiles, RoundTripIsBitExact) {
  struct Case {
    Tying tying;
    Positions positions;
    Norm norm;
  };
  for (const Case& c : {Case{Tying::kAll, Positions::kSinusoidal, Norm::kPre}, Case{Tying::kAll, Positions::kLearned, Norm::kPost},
                        Case{Tying::kTargetOutput, Positions::kNone, Norm::kPre}, Case{Tying::kNone, Positions::kLearned, Norm::kPre}}) {
    const bool joint = c.tying == Tying::kAll;
    config_.tying = c.tying;
    config_.positions = c.positions;
    config_.norm = c.norm;
    write(joint ? SubwordPair{first(), first()} : SubwordPair{first(), second()});
    LoadedModel m = load_model(folder_);
    ASSERT_EQ(m.parameters->size(), block_.size());
    EXPECT_EQ(std::memcmp(m.parameters->data(), block_.data(), block_.size() * sizeof(float)), 0);
    EXPECT_EQ(model_settings(m.config).to_json(), model_settings(config_).to_json());
    EXPECT_EQ(m.training, Json({{"preset", "none"}}));
    EXPECT_EQ(m.subwords.joint(), joint);
    EXPECT_EQ(m.subwords.source->bytes(), first()->bytes());
    EXPECT_EQ(m.subwords.target->bytes(), (joint ? first() : second())->bytes());
  }
}

TEST_F(ModelFiles, LowercasingIsStoredBesideTheSubwordModel) {
  write();
  EXPECT_FALSE(read_subwords(folder_).source->lowercase());
  const auto lowercasing = std::make_shared<const Subwords>(Subwords::from_bytes(first()->bytes(), true));
  write({lowercasing, lowercasing});
  EXPECT_TRUE(read_subwords(folder_).source->lowercase());
}

TEST_F(ModelFiles, NoFolderOrAFileInItsPlace) {
  fs::remove_all(folder_);
  expect_refused(folder_, {"expected a model directory, found nothing there"});
  std::ofstream(folder_) << "text";
  expect_refused(folder_, {"expected a model directory, found a file"});
}

TEST_F(ModelFiles, EachMissingFileIsNamed) {
  config_.tying = Tying::kNone;
  write({first(), second()});
  for (const char* name : {"config.json", "model.safetensors", "source.spm", "target.spm"}) {
    const std::string good = read_file(folder_ / name);
    fs::remove(folder_ / name);
    expect_refused(folder_ / name, {});
    fs::create_directory(folder_ / name);  // and with a folder in its place
    expect_refused(folder_ / name, {});
    fs::remove(folder_ / name);
    put(folder_ / name, good);
  }
}

TEST_F(ModelFiles, ConfigThatIsNoJsonObject) {
  write();
  const std::string whole = read_file(config_path());
  for (const std::string& text :
       {std::string(), std::string("[1]"), std::string("not json"), std::string("{\"a\": \xff}"), whole.substr(0, whole.size() / 2)}) {
    put(config_path(), text);
    expect_refused(config_path(), {"expected a JSON object"});
  }
}

TEST_F(ModelFiles, ADamagedConfigIsRefusedWithTheLineAndColumn) {
  write();
  put(config_path(), "{\n  \"format_version\": 1,\n  oops\n}\n");
  expect_refused(config_path(), {"line 3, column 3: expected a JSON object"});
  put(config_path(), "{\n");
  expect_refused(config_path(), {"line 2, column 1: expected a JSON object: unexpected end of input"});
  put(config_path(), "[1]");
  expect_refused(config_path(), {"expected a JSON object, found array"});
}

TEST_F(ModelFiles, AConfigWithAKeyTwiceIsRefused) {
  write();
  const std::string whole = read_file(config_path());
  put(config_path(), "{\n  \"format_version\": 1," + whole.substr(1));
  expect_refused(config_path(), {"expected each key once, \"format_version\" stands there twice"});
}

// Copying such a value overflows the stack; a number beyond all numbers is no parse error to the parser.
TEST_F(ModelFiles, AConfigOfDeepOrEndlessValuesIsRefused) {
  write();
  const std::string whole = read_file(config_path());
  const auto with = [&](const std::string& value) { return "{\n  \"more\": " + value + "," + whole.substr(1); };
  put(config_path(), with(std::string(100000, '[') + std::string(100000, ']')));
  expect_refused(config_path(), {"at most 16 deep"});
  put(config_path(), with("1e999"));
  expect_refused(config_path(), {"expected a JSON object"});
}

TEST_F(ModelFiles, AnUnknownSettingOfAnyLengthIsRefusedInALineThatCanBeRead) {
  write();
  edit_config([](Json& j) { j["model"][std::string(10000000, 'x')] = 1; });
  try {
    load_model(config_path().parent_path());
    ADD_FAILURE() << "accepted";
  } catch (const Error& e) {
    EXPECT_LT(std::string(e.what()).size(), 1000u);
    EXPECT_NE(std::string(e.what()).find("there is no setting"), std::string::npos);
  }
}

TEST_F(ModelFiles, FormatVersions) {
  write();
  edit_config([](Json& j) { j["format_version"] = kFormatVersion + 1; });
  expect_refused(config_path(), {"format version 2", "up to 1", "newer jumok"});
  edit_config([](Json& j) { j["format_version"] = 18446744073709551615ull; });
  expect_refused(config_path(), {"newer jumok"});
  for (const Json& wrong : {Json(0), Json(-1), Json(1.0), Json("1"), Json()}) {
    edit_config([&](Json& j) { j["format_version"] = wrong; });
    expect_refused(config_path(), {"expected a positive integer \"format_version\""});
  }
  edit_config([](Json& j) { j.erase("format_version"); });
  expect_refused(config_path(), {"format_version"});
}

TEST_F(ModelFiles, ConfigValuesThatAreUnknownOrDoNotFit) {
  const std::pair<std::function<void(Json&)>, std::vector<std::string>> cases[] = {
      {[](Json& j) { j["architecture"] = "perceptron"; }, {"perceptron", "expected transformer, rnn or language-model"}},
      {[](Json& j) { j["architecture"] = 5; }, {"architecture"}},
      {[](Json& j) { j.erase("architecture"); }, {"architecture", "nothing"}},
      {[](Json& j) { j["model"]["encoder.layer"] = 1; }, {"no setting \"encoder.layer\"", "encoder.layers"}},
      {[](Json& j) { j["model"]["encoder.layers"] = 0; }, {"encoder.layers = 0", "1 … 64"}},
      {[](Json& j) { j["model"]["encoder.layers"] = "1"; }, {"encoder.layers = \"1\"", "1 … 64"}},
      {[](Json& j) { j["model"]["attention.heads"] = 3; }, {"attention.heads = 3"}},
      {[](Json& j) { j["model"] = 3; }, {"expected an object of settings"}},
      {[](Json& j) { j.erase("model"); }, {"expected an object of settings"}},
      {[](Json& j) { j["source_vocabulary"] = 0; }, {"source_vocabulary"}},
      {[](Json& j) { j["source_vocabulary"] = 4294967309ull; }, {"source_vocabulary", "4294967309"}},  // the right 13 when cut to 32 bits
      {[](Json& j) { j.erase("target_vocabulary"); }, {"target_vocabulary"}},
      {[](Json& j) { j["lowercase"] = "no"; }, {"lowercase", "true or false", "\"no\""}},
      {[](Json& j) { j.erase("lowercase"); }, {"lowercase", "true or false"}},
      {[](Json& j) { j["joint_vocabulary"] = 1; }, {"joint_vocabulary", "true or false"}},
      {[](Json& j) { j["subword_hash"] = "x"; }, {"subword_hash"}},
      {[](Json& j) { j["subword_hash"] = Json::object(); }, {"subword_hash", "joint.spm"}},
  };
  write();
  const std::string good = read_file(config_path());
  for (const auto& [edit, words] : cases) {
    put(config_path(), good);
    edit_config(edit);
    expect_refused(config_path(), words);
  }
}

TEST_F(ModelFiles, VocabularyOfAnotherSizeThanTheSubwordModel) {
  write();
  const int size = first()->size();
  edit_config([&](Json& j) { j["source_vocabulary"] = j["target_vocabulary"] = size + 1; });
  expect_refused(folder_, {std::to_string(size), std::to_string(size + 1)});
}

// SentencePiece 0.1.97 can die of a damaged model, so the hash must stop it before it is read: every byte counts, at its place.
TEST_F(ModelFiles, DamagedSubwordModelIsStoppedByItsHash) {
  write();
  const fs::path path = folder_ / "joint.spm";
  const std::string good = first()->bytes();
  for (size_t i = 0; i < good.size(); i += 1 + good.size() / 40) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x20);
    put(path, bad);
    expect_refused(path, {"damaged, or not the file", "config.json"});
  }
  std::string swapped = good;
  std::swap_ranges(swapped.begin(), swapped.begin() + 8, swapped.begin() + 8);
  for (const std::string& bad : {good + '\0', good.substr(0, good.size() - 1), std::string(), second()->bytes(), swapped}) {
    put(path, bad);
    expect_refused(path, {"damaged, or not the file"});
  }
  put(path, good);
  EXPECT_NO_THROW(load_model(folder_));
}

// A changed hash would refuse every model written before. The value is that of docs/model-format.md's formula in Python:
//   h = mix(len(b)); for i in range(0, len(b), 8): h = mix(h ^ int.from_bytes(b[i:i+8], "little"))
TEST_F(ModelFiles, TheHashIsTheOneTheFormatDescribes) {
  const std::string bytes =
      read_file(fs::path(JUMOK_TEST_DATA).parent_path().parent_path() / "text/data/toy.spm");  // 5322 bytes: not whole words
  const auto toy = std::make_shared<const Subwords>(Subwords::from_bytes(bytes, false));
  write({toy, toy});
  EXPECT_EQ(Json::parse(read_file(config_path()))["subword_hash"], Json({{"joint.spm", "fa298fc705feb012"}}));
}

TEST_F(ModelFiles, TheHashesOfTheTwoSidesAreNotMixedUp) {
  config_.tying = Tying::kNone;
  write({first(), second()});
  EXPECT_NO_THROW(load_model(folder_));
  put(folder_ / "source.spm", second()->bytes());
  put(folder_ / "target.spm", first()->bytes());
  expect_refused(folder_ / "source.spm", {"damaged, or not the file"});
}

TEST_F(ModelFiles, ModelsWithoutHashesStillLoad) {
  write();
  edit_config([](Json& j) { j.erase("subword_hash"); });
  EXPECT_NO_THROW(load_model(folder_));
  put(folder_ / "joint.spm", "this is text");
  expect_refused(folder_ / "joint.spm", {"SentencePiece model"});
}

TEST_F(ModelFiles, TensorsMissingOrOfAnotherShape) {
  const std::string name = "encoder.layers.0.feed_forward.inner.weight";
  write();
  const std::string good = read_file(weights());
  edit_tensors([&](Tensors& t) { std::erase_if(t, [&](const NamedTensor& n) { return n.name == name; }); });
  expect_refused(weights(), {name});
  put(weights(), good);
  edit_tensors([&](Tensors& t) { named(t, name).shape = {8, 512}; });  // as many numbers, transposed
  expect_refused(weights(), {name, "expected shape [512, 8]", "found [8, 512]"});
  put(weights(), good);
  edit_tensors([&](Tensors& t) { named(t, "encoder.norm.bias").shape = {1, 8}; });
  expect_refused(weights(), {"encoder.norm.bias", "expected shape [8]", "found [1, 8]"});
}

TEST_F(ModelFiles, NumbersOfAnotherType) {
  write();
  edit_tensors([](Tensors& t) { named(t, "encoder.norm.bias").dtype = "I32"; });
  expect_refused(weights(), {"encoder.norm.bias", "I32"});
}

// A config with fewer layers than the file would translate, badly and without a word.
TEST_F(ModelFiles, TensorsThatTheConfigDoesNotSpeakOf) {
  config_.encoder_layers = 2;
  write();
  edit_config([](Json& j) { j["model"]["encoder.layers"] = 1; });
  expect_refused(weights(), {"encoder.layers.1.", "no such parameter"});
}

// Shapes are compared before memory is taken: this config asks for 130 GB.
TEST_F(ModelFiles, AHugeConfigIsRefusedWithoutItsMemory) {
  write();
  edit_config([](Json& j) {
    j["model"]["encoder.layers"] = j["model"]["decoder.layers"] = 64;
    j["model"]["model.width"] = 4096;
    j["model"]["feed-forward.width"] = 65536;
    j["model"]["positions.max"] = 65536;
  });
  expect_refused(weights(), {"expected shape"});
}

TEST_F(ModelFiles, CutFilesNeverLoad) {
  write();
  const std::string good = read_file(weights());
  for (const size_t size : {size_t{0}, size_t{7}, size_t{100}, good.size() / 2, good.size() - 1}) {
    put(weights(), std::string_view(good).substr(0, size));
    expect_refused(weights(), {"truncated"});
  }
}

TEST_F(ModelFiles, TiedOutputWrittenTwiceLoadsWhenEqualAndIsRefusedWhenDifferent) {
  const std::pair<Tying, std::string> cases[] = {{Tying::kAll, "embedding.weight"}, {Tying::kTargetOutput, "decoder.embedding.weight"}};
  for (const auto& [tying, embedding] : cases) {
    config_.tying = tying;
    write();
    edit_tensors([&, &e = embedding](Tensors& t) {
      NamedTensor copy = named(t, e);
      copy.name = "output.weight";
      t.push_back(copy);
    });
    const LoadedModel m = load_model(folder_);
    EXPECT_EQ(std::memcmp(m.parameters->data(), block_.data(), block_.size() * sizeof(float)), 0);
    std::string other;
    edit_tensors([&](Tensors& t) {
      NamedTensor& output = named(t, "output.weight");
      other = output.bytes;
      other.back() = static_cast<char>(other.back() ^ 1);
      output.bytes = other;
    });
    expect_refused(weights(), {"output.weight differs from its " + embedding});
  }
}

TEST_F(ModelFiles, UntiedOutputIsAParameterOfItsOwn) {
  config_.tying = Tying::kNone;
  write();
  EXPECT_NO_THROW(load_model(folder_));  // output.weight and decoder.embedding.weight differ, rightly
  edit_config([](Json& j) { j["model"]["embedding.tying"] = "target-output"; });
  expect_refused(weights(), {"output.weight differs from its decoder.embedding.weight"});
}

}  // namespace
}  // namespace jumok
