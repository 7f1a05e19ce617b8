#include "matrix_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "json_text.h"
#include "values.h"

namespace jumok {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPagePairs = 20;  // of an html page unless set: more make a page that browsers open slowly

std::string json_list(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& t : texts) out += (out.empty() ? "" : ", ") + json_string(t);
  return "[" + out + "]";
}

std::string json_symbols(const AttentionMatrices& m, size_t pair) {
  return fmt::format("\"pair\": {}, \"source\": {}, \"target\": {}", pair, json_list(m.source_symbols), json_list(m.target_symbols));
}

// The weights of one layer and head, [T, S].
std::span<const float> map_of(const AttentionMatrices& m, int layer, int head) {
  const size_t size = m.target_symbols.size() * m.source_symbols.size();
  return std::span(m.weights).subspan(static_cast<size_t>(layer * m.heads + head) * size, size);
}

std::string json_map(const AttentionMatrices& m, int layer, int head) {
  const auto map = map_of(m, layer, head);
  const size_t columns = m.source_symbols.size();
  std::string rows;
  for (size_t t = 0; t < m.target_symbols.size(); ++t) {
    const float* row = map.data() + t * columns;
    rows += fmt::format("{}[{:.6g}]", t > 0 ? ", " : "", fmt::join(row, row + columns, ", "));
  }
  return fmt::format("{{\"layer\": {}, \"head\": {}, \"weights\": [{}]}}", layer, head, rows);
}

class JsonOutput : public MatrixOutput {
 public:
  explicit JsonOutput(const std::string& path) : file_(path) {}
  void write(const AttentionMatrices& m, const std::string&, const std::string&) override {
    std::string maps;
    for (int layer = 0; layer < m.layers; ++layer) {
      for (int head = 0; head < m.heads; ++head) maps += (maps.empty() ? "" : ", ") + json_map(m, layer, head);
    }
    file_.write(fmt::format("{{{}, \"maps\": [{}]}}\n", json_symbols(m, pairs_++), maps));
  }
  void commit() override { file_.commit(); }

 private:
  AtomicFile file_;
  size_t pairs_ = 0;
};

// A symbol as one field: some subword models have pieces that hold a tab.
std::string field(std::string text) {
  for (char& c : text) {
    if (c == '\t' || c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

class TsvOutput : public MatrixOutput {
 public:
  explicit TsvOutput(const std::string& path) : file_(path) {
    file_.write("pair\tlayer\thead\ttarget\tsource\ttarget_symbol\tsource_symbol\tweight\n");
  }
  void write(const AttentionMatrices& m, const std::string&, const std::string&) override {
    std::string out;
    const float* weight = m.weights.data();
    for (int map = 0; map < m.layers * m.heads; ++map) {
      for (size_t t = 0; t < m.target_symbols.size(); ++t) {
        for (size_t s = 0; s < m.source_symbols.size(); ++s) {
          out += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{:.6g}\n", pairs_, map / m.heads, map % m.heads, t, s, field(m.target_symbols[t]),
                             field(m.source_symbols[s]), *weight++);
        }
      }
    }
    file_.write(out);
    ++pairs_;
  }
  void commit() override { file_.commit(); }

 private:
  AtomicFile file_;
  size_t pairs_ = 0;
};

// A new or an empty folder, made with the first file: what is refused leaves none.
class OutputFolder {
 public:
  explicit OutputFolder(fs::path path) : path_(std::move(path)) {
    check_folder_place(path_);
    std::error_code missing;
    check(fs::directory_iterator(path_, missing) == fs::directory_iterator(), "{}: expected a new or an empty folder, found files in it",
          path_.string());
  }
  const fs::path& made() {
    make_folder(path_);
    return path_;
  }

 private:
  fs::path path_;
};

class NpyOutput : public MatrixOutput {
 public:
  explicit NpyOutput(fs::path folder) : folder_(std::move(folder)) {}
  void write(const AttentionMatrices& m, const std::string&, const std::string&) override {
    const size_t shape[] = {static_cast<size_t>(m.layers), static_cast<size_t>(m.heads), m.target_symbols.size(), m.source_symbols.size()};
    write_file(folder_.made() / fmt::format("{:06}.npy", pairs_), npy_bytes(m.weights, shape));
    symbols().write(fmt::format("{{{}}}\n", json_symbols(m, pairs_++)));
  }
  void commit() override { symbols().commit(); }

 private:
  AtomicFile& symbols() {
    if (!symbols_) symbols_ = std::make_unique<AtomicFile>(folder_.made() / "symbols.jsonl");
    return *symbols_;
  }

  OutputFolder folder_;
  std::unique_ptr<AtomicFile> symbols_;
  size_t pairs_ = 0;
};

class SvgOutput : public MatrixOutput {
 public:
  explicit SvgOutput(fs::path folder) : folder_(std::move(folder)) {}
  void write(const AttentionMatrices& m, const std::string&, const std::string&) override {
    const std::string name = fmt::format("{:06}", pairs_++);
    if (m.weights.empty()) return;  // a blank pair has no picture
    write_file(folder_.made() / (name + ".svg"), attention_svg(m));
    if (m.layers * m.heads == 1) return;
    for (int layer = 0; layer < m.layers; ++layer) {
      for (int head = 0; head < m.heads; ++head) {
        write_file(folder_.made() / fmt::format("{}-layer{}-head{}.svg", name, layer, head),
                   attention_svg(m, layer, head, fmt::format("layer {}, head {}", layer, head)));
      }
    }
  }
  void commit() override { folder_.made(); }

 private:
  OutputFolder folder_;
  size_t pairs_ = 0;
};

class HtmlOutput : public MatrixOutput {
 public:
  HtmlOutput(const std::string& path, const std::string& title) : file_(path), title_(title) {}
  void write(const AttentionMatrices& m, const std::string& source, const std::string& target) override {
    matrices_.push_back(m);
    sources_.push_back(source);
    targets_.push_back(target);
  }
  void commit() override {
    file_.write(attention_page(title_, matrices_, sources_, targets_));
    file_.commit();
  }

 private:
  AtomicFile file_;
  std::string title_;
  std::vector<AttentionMatrices> matrices_;
  std::vector<std::string> sources_, targets_;
};

}  // namespace

std::unique_ptr<MatrixOutput> open_matrix_output(const std::string& format, const std::string& path, const std::string& title) {
  if (format == "npy") return std::make_unique<NpyOutput>(path);
  if (format == "svg") return std::make_unique<SvgOutput>(path);
  check_file_place(path);
  if (format == "json") return std::make_unique<JsonOutput>(path);
  if (format == "tsv") return std::make_unique<TsvOutput>(path);
  check(format == "html", "matrix format '{}': expected json, tsv, npy, svg or html", format);
  return std::make_unique<HtmlOutput>(path, title);
}

void add_matrix_options(CLI::App& sub, MatrixOptions& o, const std::string& what, const std::string& count) {
  auto* matrix =
      sub.add_option(
             "--matrix", o.files,
             fmt::format("Also write {} between subword symbols as json, tsv or html to a file, or as npy (float32, [layers, heads, "
                         "target, source]) or svg to a new folder; repeatable",
                         what))
          ->type_name("FORMAT PATH")
          ->allow_extra_args(false)
          ->check(one_of({"json", "tsv", "npy", "svg", "html"}).application_index(0));
  sub.add_option("--matrix-pairs", o.pairs, fmt::format("{} written there, the first; 0: all (html and svg: {})", count, kPagePairs))
      ->check(whole(0, 1000000000))
      ->type_name("N")
      ->needs(matrix);
}

void add_matrix_kind(CLI::App& sub, MatrixOptions& o) {
  sub.add_option_function<std::string>(
         "--matrix-of",
         [&o](const std::string& name) {
           o.which = name == "encoder" ? Attentions::kEncoder : name == "decoder" ? Attentions::kDecoder : Attentions::kSource;
         },
         "Which attention: source, that of the decoder over the source, or of a Transformer the self-attention of its encoder or decoder")
      ->check(one_of({"source", "encoder", "decoder"}))
      ->type_name("NAME")
      ->default_str("source")
      ->needs("--matrix");
}

void check_matrix_paths(const MatrixOptions& o, const std::vector<std::string>& others) {
  // However it is spelt: from the root, without the slash that a folder's name may end in.
  const auto place = [](const std::string& path) {
    const fs::path whole = fs::absolute(path).lexically_normal();
    return whole.has_filename() ? whole : whole.parent_path();
  };
  std::vector<fs::path> taken;
  for (const std::string& other : others) {
    if (!other.empty()) taken.push_back(place(other));
  }
  for (const auto& [format, path] : o.files) {
    const fs::path own = place(path);
    if (std::find(taken.begin(), taken.end(), own) != taken.end()) {
      throw CLI::ValidationError("--matrix", fmt::format("expected a path of its own for each output, found '{}' twice", path));
    }
    taken.push_back(own);
  }
}

MatrixWriter::MatrixWriter(const MatrixOptions& o, const std::string& model) {
  const std::string whose = o.which == Attentions::kEncoder   ? "the encoder of " + folder_name(model)
                            : o.which == Attentions::kDecoder ? "the decoder of " + folder_name(model)
                                                              : folder_name(model);
  const std::string title = fmt::format("What {} attends to{}", whose, o.which == Attentions::kDecoder ? " in its own text" : "");
  for (const auto& [format, path] : o.files) {
    const bool pictures = format == "html" || format == "svg";
    outputs_.push_back({open_matrix_output(format, path, title), o.pairs > 0 ? static_cast<size_t>(o.pairs)
                                                                 : pictures  ? kPagePairs
                                                                             : SIZE_MAX});
  }
}

void MatrixWriter::write(std::span<const std::string> sources, std::span<const std::string> targets,
                         const std::function<AttentionMatrices(size_t)>& of) {
  size_t most = 0;
  for (const Limited& o : outputs_) most = std::max(most, o.left);
  for (size_t i = 0; i < std::min(most, sources.size()); ++i) {
    const AttentionMatrices matrices = of(i);
    for (Limited& o : outputs_) {
      if (o.left == 0) continue;
      o.output->write(matrices, sources[i], targets[i]);
      --o.left;
    }
  }
}

void MatrixWriter::commit() {
  for (const Limited& o : outputs_) o.output->commit();
}

std::string npy_bytes(std::span<const float> values, std::span<const size_t> shape) {
  std::string sizes;
  size_t count = 1;
  for (const size_t n : shape) {
    sizes += fmt::format("{}{}", sizes.empty() ? "" : " ", n) + ",";  // "(3,)" and "(3, 4,)" are both Python
    count *= n;
  }
  check(values.size() == count, "array ({}): expected {} values, found {}", sizes, count, values.size());
  std::string header = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}", sizes);
  // Magic, version and the header's length are 10 bytes; together with the header a multiple of 64, ended by LF.
  header.append(63 - (10 + header.size()) % 64, ' ').append("\n");
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 255);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  for (const float v : values) {
    const auto word = std::bit_cast<uint32_t>(v);
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(word >> shift & 255);
  }
  return bytes;
}

}  // namespace jumok
