#include "lab_output.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "output.h"
#include "values.h"

namespace jumok {

std::filesystem::path lab_page_path(const std::filesystem::path& page, const std::string& name) {
  if (page.extension() == ".html" || page.extension() == ".htm") {
    check_file_place(page);
    return page;
  }
  check_folder_place(page);
  return page / (name + ".html");
}

void write_lab_results(const LabOutput& output, const std::string& name, const LabReport& report, const nlohmann::ordered_json& json) {
  const bool prints_json = output.json && output.json_file.empty();
  write_output(prints_json ? json.dump(2) + "\n" : lab_text(report));
  if (!output.json_file.empty()) write_file(output.json_file, json.dump(2) + "\n");
  if (output.page.empty()) return;
  const std::filesystem::path path = lab_page_path(output.page, name);
  if (path != output.page) make_folder(output.page);
  write_file(path, lab_page(report));
  if (!output.quiet) std::fputs(fmt::format("the page with the pictures: {}\n", path.string()).c_str(), stderr);
}

void add_lab_output(CLI::App& sub, LabOutput& output) {
  sub.add_option("--output", output.page, "Also write a page with the pictures: a file that ends in .html, or a folder (default: none)")
      ->type_name("PATH");
  sub.add_option_function<std::string>(
         "--json",
         [&output](const std::string& file) {
           output.json = true;
           output.json_file = file;
         },
         "One JSON object with all numbers: into FILE, or without one to standard output instead of the tables")
      ->type_name("[FILE]")
      ->expected(0, 1);
  sub.add_flag("--quiet", output.quiet, "Nothing on standard error but errors");
}

void add_seed(CLI::App& sub, LabRun& run) { sub.add_option("--seed", run.seed, "Seed of everything random")->check(seed_value()); }

void add_threads(CLI::App& sub, LabRun& run) {
  sub.add_option("--threads", run.threads, "Threads; 0: one a core. Results, but for times, do not depend on it")->check(whole(0, 4096));
}

}  // namespace jumok
