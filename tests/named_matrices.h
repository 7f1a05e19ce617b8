// Matrices of a test's data file: one a line, "NAME ROWS COLUMNS NUMBERS…"; lines with # are comments.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace jumok {

struct NamedMatrix {
  int64_t rows = 0, columns = 0;
  std::vector<float> values;
  float at(int64_t r, int64_t c) const { return values[static_cast<size_t>(r * columns + c)]; }
};

inline std::map<std::string, NamedMatrix> read_named_matrices(const std::string& path) {
  std::map<std::string, NamedMatrix> all;
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream in(line);
    std::string name;
    NamedMatrix m;
    in >> name >> m.rows >> m.columns;
    for (double v; in >> v;) m.values.push_back(static_cast<float>(v));
    EXPECT_EQ(static_cast<int64_t>(m.values.size()), m.rows * m.columns) << path << ": " << name;
    all[name] = m;
  }
  return all;
}

}  // namespace jumok
