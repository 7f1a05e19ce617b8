// docs/mechanisms.md against the program: the command of each mechanism is the model that `jumok lab compare` trains.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "base/file.h"
#include "lab/compare.h"
#include "models/config.h"

namespace jumok {
namespace {

// All model settings of a preset with settings over it, as JSON.
std::string model_of(const std::string& preset, const std::vector<std::string>& settings) {
  ModelConfig config = model_preset(preset);
  Settings table = model_settings(config);
  for (const std::string& s : settings) table.set_assignment(s, "page");
  return table.to_json().dump();
}

// The models of the page's table, "" for a row without a command.
std::vector<std::string> models_of_page() {
  std::istringstream page(read_file((std::filesystem::path(JUMOK_TEST_DATA) / "../../../docs/mechanisms.md").lexically_normal()));
  std::vector<std::string> models;
  bool is_table = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) is_table = line == "## The table";
    if (!is_table || !line.starts_with("| ") || line.starts_with("| mechanism ")) continue;
    const size_t begin = line.find("`--preset ");
    if (begin == std::string::npos) {
      models.emplace_back();
      continue;
    }
    std::istringstream words(line.substr(begin + 1, line.find('`', begin + 1) - begin - 1));
    std::string option, value, preset;
    std::vector<std::string> settings;
    while (words >> option >> value) {
      if (option == "--preset") preset = value;
      if (option == "--set") settings.push_back(value);
    }
    models.push_back(model_of(preset, settings));
  }
  return models;
}

TEST(MechanismsPage, EveryCommandIsTheModelThatIsCompared) {
  const std::vector<std::string> rows = models_of_page();
  std::vector<std::string> compared;
  for (const Contender& c : all_mechanisms(10)) compared.push_back(model_of(c.preset, c.settings));
  ASSERT_EQ(rows.size() + 2, compared.size());  // the additive, dot and general cross-attention share a row
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i], compared[i]) << "row " << i + 1 << ", " << all_mechanisms(10)[i].name;
}

}  // namespace
}  // namespace jumok
