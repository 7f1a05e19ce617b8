// The worked example's JSON file.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "lab/worked_example.h"

namespace jumok {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostWords = 256, kMostWidth = 1024;
constexpr const char* kFields[] = {"embeddings", "queries", "keys", "w_q", "w_k", "w_v", "scale", "mask"};

std::vector<double> numbers(const Json& j, const std::string& where) {
  check(j.is_array() && !j.empty() && j.size() <= kMostWidth, "{}: expected a list of 1 to {} numbers, found {}", where, kMostWidth,
        j.dump());
  std::vector<double> v;
  for (const Json& x : j) {
    check(x.is_number() && std::abs(x.get<double>()) < 1e30, "{}: expected numbers, found {}", where, x.dump());
    v.push_back(x);
  }
  return v;
}

void read_words(WorkedExample& e, const Json& j, const std::string& where) {
  check(j.is_object() && !j.empty() && j.size() <= kMostWords,
        "{}: expected an object of 1 to {} words with their vectors, as {{\"it\": [0.6, 0.6]}}", where, kMostWords);
  for (const auto& [word, vector] : j.items()) {
    e.words.push_back(word);
    e.embeddings.push_back(numbers(vector, where + "." + word));
    check(e.embeddings.back().size() == e.embeddings.front().size(), "{}.{}: expected {} numbers as in the first vector, found {}", where,
          word, e.embeddings.front().size(), e.embeddings.back().size());
  }
}

// Numbers of the words named; all where the field is left out.
std::vector<int> word_list(const WorkedExample& e, const Json& file, const char* field, const std::string& where) {
  std::vector<int> list;
  if (!file.contains(field)) {
    for (size_t i = 0; i < e.words.size(); ++i) list.push_back(static_cast<int>(i));
    return list;
  }
  const Json& j = file[field];
  check(j.is_array() && !j.empty() && j.size() <= kMostWords, "{}: {}: expected a list of 1 to {} words", where, field, kMostWords);
  for (const Json& word : j) {
    const auto found = word.is_string() ? std::find(e.words.begin(), e.words.end(), word.get<std::string>()) : e.words.end();
    check(found != e.words.end(), "{}: {}: expected words of \"embeddings\", found {}", where, field, word.dump());
    list.push_back(static_cast<int>(found - e.words.begin()));
  }
  return list;
}

// [any, D]; the identity where it is left out.
Vectors matrix(const Json& file, const char* field, size_t columns, const std::string& where) {
  Vectors m;
  if (!file.contains(field)) {
    m.assign(columns, std::vector<double>(columns));
    for (size_t i = 0; i < columns; ++i) m[i][i] = 1;
    return m;
  }
  const Json& j = file[field];
  check(j.is_array() && !j.empty() && j.size() <= kMostWidth, "{}: {}: expected a list of rows", where, field);
  for (const Json& row : j) {
    m.push_back(numbers(row, fmt::format("{}: {}, row {}", where, field, m.size() + 1)));
    check(m.back().size() == columns, "{}: {}, row {}: expected {} numbers, one for each of a vector's, found {}", where, field, m.size(),
          columns, m.back().size());
  }
  return m;
}

std::vector<std::vector<bool>> mask(const WorkedExample& e, const Json& file, const std::string& where) {
  std::vector<std::vector<bool>> rows;
  if (!file.contains("mask")) return rows;
  const Json& j = file["mask"];
  const auto bad = [&] {
    fail("{}: mask: expected {} rows of {} true (may attend) or false, a row for each query", where, e.queries.size(), e.keys.size());
  };
  if (!j.is_array() || j.size() != e.queries.size()) bad();
  for (const Json& row : j) {
    if (!row.is_array() || row.size() != e.keys.size()) bad();
    rows.emplace_back();
    for (const Json& may : row) {
      if (!may.is_boolean()) bad();
      rows.back().push_back(may);
    }
  }
  return rows;
}

}  // namespace

WorkedExample parse_worked_example(const std::string& text, const std::string& where) {
  const Json file = Json::parse(text, nullptr, false);
  check(file.is_object(), "{}: expected a JSON object", where);
  for (const auto& [field, unused] : file.items()) {
    check(std::find(std::begin(kFields), std::end(kFields), field) != std::end(kFields), "{}: \"{}\": expected one of {}", where, field,
          fmt::join(kFields, ", "));
  }
  check(file.contains("embeddings"), "{}: expected \"embeddings\", found none", where);
  WorkedExample e;
  read_words(e, file["embeddings"], where + ": embeddings");
  e.queries = word_list(e, file, "queries", where);
  e.keys = word_list(e, file, "keys", where);
  const size_t width = e.embeddings.front().size();
  e.query_matrix = matrix(file, "w_q", width, where);
  e.key_matrix = matrix(file, "w_k", width, where);
  e.value_matrix = matrix(file, "w_v", width, where);
  check(e.query_matrix.size() == e.key_matrix.size(), "{}: expected as many rows of w_q as of w_k, found {} and {}", where,
        e.query_matrix.size(), e.key_matrix.size());
  if (file.contains("scale")) {
    check(file["scale"].is_number(), "{}: scale: expected a number, found {}", where, file["scale"].dump());
    e.scale = file["scale"].get<double>();
  }
  e.allowed = mask(e, file, where);
  return e;
}

}  // namespace jumok
