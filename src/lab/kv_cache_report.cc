// The kv-cache experiment as tables and pictures.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "lab/kv_cache_cost.h"
#include "report/curves.h"

namespace jumok {
namespace {

std::string kilobytes(int64_t bytes) { return fmt::format("{:.0f}", static_cast<double>(bytes) / 1024); }
std::string megabytes(int64_t bytes) { return fmt::format("{:.1f}", static_cast<double>(bytes) / (1 << 20)); }
std::string milliseconds(double s) { return fmt::format("{:.3f}", 1e3 * s); }

Series series(const KvCacheResult& r, const char* name, double KvCacheRow::*value, double scale) {
  Series s{name, {}, {}};
  for (const KvCacheRow& row : r.rows) s.x.push_back(row.length), s.y.push_back(row.*value * scale);
  return s;
}

LabSection bytes(const KvCacheResult& r) {
  LabSection s{"Bytes", fmt::format("2 · layers · d_kv · length · bytes = 2 · {} · {} · n · 4", r.layers, r.width), {}, {}, {}};
  LabTable t{
      "Per sentence. Reserved: the cache grows by doubling.", {"length", "formula, KiB", "read by a step, KiB", "reserved, KiB"}, {}};
  for (const KvCacheRow& row : r.rows) {
    t.rows.push_back({std::to_string(row.length), kilobytes(row.formula_bytes), kilobytes(row.read_bytes), kilobytes(row.reserved_bytes)});
  }
  s.tables.push_back(t);
  return s;
}

LabSection times(const KvCacheResult& r) {
  LabSection s{"Time per generated symbol", "", {}, {}, {}};
  s.texts.push_back(fmt::format("All {} symbols: {:.2f} s with the cache, {:.2f} s without: {:.1f} times as long.", r.rows.back().length,
                                r.generate_with, r.generate_without, r.generate_without / r.generate_with));
  LabTable t{
      "Milliseconds, one sentence on one thread (processor time). "
      "Without the cache every symbol takes the decoder over all symbols so far.",
      {"length", "with cache", "without", "without / with", "attention alone, step", "attention alone, all"},
      {}};
  for (const KvCacheRow& row : r.rows) {
    t.rows.push_back({std::to_string(row.length), milliseconds(row.step_seconds), milliseconds(row.pass_seconds),
                      fmt::format("{:.1f}", row.pass_seconds / row.step_seconds), milliseconds(row.attention_step_seconds),
                      milliseconds(row.attention_pass_seconds)});
  }
  LabTable exponents{
      "Exponents of n, fitted through the upper three lengths. "
      "The whole decoder has terms without n (step) and with n (pass) beside those of attention.",
      {"", "fitted", "expected"},
      {}};
  const auto add = [&](const char* what, double fitted, const char* expected) {
    exponents.rows.push_back({what, fmt::format("{:.2f}", fitted), expected});
  };
  add("attention over the whole prefix", r.attention_pass_exponent, "2");
  add("attention of a step", r.attention_step_exponent, "1");
  add("whole decoder over the prefix", r.pass_exponent, "1 to 2");
  add("whole decoder, a step", r.step_exponent, "0 to 1");
  s.tables = {t, exponents};
  s.figures.push_back(
      {curves_svg({.title = "Time per symbol", .x_label = "length", .y_label = "milliseconds", .log_x = true, .log_y = true},
                  {series(r, "with cache", &KvCacheRow::step_seconds, 1e3), series(r, "without", &KvCacheRow::pass_seconds, 1e3),
                   series(r, "attention, step", &KvCacheRow::attention_step_seconds, 1e3),
                   series(r, "attention, all", &KvCacheRow::attention_pass_seconds, 1e3)}),
       ""});
  return s;
}

// How a language model reads what it is given.
LabSection prompts(const KvCacheResult& r) {
  LabSection s{"Reading a prompt", "", {}, {}, {}};
  LabTable t{
      "Milliseconds until the first new symbol can be chosen. In one pass the products have a row for every symbol, "
      "so the weights are read once; one symbol at a time they are read for each.",
      {"symbols", "one at a time", "in one pass", "times as fast"},
      {}};
  for (const KvCacheRow& row : r.rows) {
    t.rows.push_back({std::to_string(row.length), milliseconds(row.steps_seconds), milliseconds(row.prompt_seconds),
                      fmt::format("{:.1f}", row.steps_seconds / row.prompt_seconds)});
  }
  s.tables.push_back(t);
  return s;
}

LabSection crossings(const KvCacheResult& r) {
  LabSection s{"When reading the cache overtakes reading the weights",
               "length = bytes of the decoder's weights / (2 · layers · d_kv · bytes · sentences)",
               {},
               {},
               {}};
  s.texts.push_back("Each step reads the decoder's weights once for the whole batch, and the cache of each sentence. Both in f32.");
  if (std::isfinite(r.measured_crossing)) {
    s.texts.push_back(fmt::format("Measured with {}: the growing part of a step's time would reach the constant part at length {:.0f}.",
                                  r.preset, r.measured_crossing));
  }
  LabTable t{"Length in symbols at which both are equal.",
             {"preset", "weights, MiB", "cache per symbol, KiB", "1 sentence", "8 sentences", "32 sentences"},
             {}};
  for (const KvCacheCrossing& c : r.crossings) {
    t.rows.push_back({c.preset, megabytes(c.weight_bytes), kilobytes(c.bytes_per_symbol), fmt::format("{:.0f}", c.length(1)),
                      fmt::format("{:.0f}", c.length(8)), fmt::format("{:.0f}", c.length(32))});
  }
  s.tables.push_back(t);
  return s;
}

nlohmann::ordered_json finite(double x) { return std::isfinite(x) ? nlohmann::ordered_json(x) : nlohmann::ordered_json(); }

}  // namespace

LabReport report_of(const KvCacheResult& r) {
  LabReport report{"What the key/value cache saves",
                   fmt::format("Bytes and time per generated symbol of {} (vocabulary {}), with kept keys and values and without.",
                               r.preset, r.vocabulary),
                   {bytes(r), times(r)}};
  if (r.rows.front().prompt_seconds > 0) report.sections.push_back(prompts(r));
  report.sections.push_back(crossings(r));
  return report;
}

nlohmann::ordered_json to_json(const KvCacheResult& r) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array(), crossings = nlohmann::ordered_json::array();
  for (const KvCacheRow& row : r.rows) {
    rows.push_back({{"length", row.length},
                    {"formula_bytes", row.formula_bytes},
                    {"read_bytes", row.read_bytes},
                    {"reserved_bytes", row.reserved_bytes},
                    {"step_seconds", row.step_seconds},
                    {"pass_seconds", row.pass_seconds},
                    {"steps_seconds", row.steps_seconds},
                    {"prompt_seconds", row.prompt_seconds > 0 ? nlohmann::ordered_json(row.prompt_seconds) : nlohmann::ordered_json()},
                    {"attention_step_seconds", row.attention_step_seconds},
                    {"attention_pass_seconds", row.attention_pass_seconds}});
  }
  for (const KvCacheCrossing& c : r.crossings) {
    crossings.push_back(
        {{"preset", c.preset}, {"weight_bytes", c.weight_bytes}, {"bytes_per_symbol", c.bytes_per_symbol}, {"length", c.length(1)}});
  }
  return {{"experiment", "kv-cache"},
          {"preset", r.preset},
          {"layers", r.layers},
          {"width", r.width},
          {"rows", rows},
          {"generate_seconds_with", r.generate_with},
          {"generate_seconds_without", r.generate_without},
          {"exponents",
           {{"attention_pass", finite(r.attention_pass_exponent)},
            {"attention_step", finite(r.attention_step_exponent)},
            {"pass", finite(r.pass_exponent)},
            {"step", finite(r.step_exponent)}}},
          {"crossings", crossings},
          {"measured_crossing", finite(r.measured_crossing)}};
}

}  // namespace jumok
