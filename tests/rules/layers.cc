#include "layers.h"

namespace jumok::rules {

std::vector<Layer> project_layers() {
  const std::set<std::string> ops = {"base", "kernels", "gemm", "tensor", "autograd"};
  const auto plus = [](std::set<std::string> set, const std::set<std::string>& more) {
    set.insert(more.begin(), more.end());
    return set;
  };
  const auto nn = plus(ops, {"nn"}), attention = plus(nn, {"attention"});
  const std::set<std::string> engine = plus(attention, {"text", "data", "models", "search", "metrics", "translate"});
  const std::string fmt = "fmt/", json = "nlohmann/";
  return {
      {"include/jumok", {"jumok"}, {}},
      {"src/base", {}, {fmt, "zlib.h"}},
      {"src/text", {"base"}, {fmt, "sentencepiece_", "utf8proc.h"}},
      {"src/data", {"base", "text"}, {fmt}},
      {"src/kernels", {"base"}, {fmt, "hwy/"}},
      {"src/gemm", {"base", "kernels/rows.h"}, {fmt, "dnnl", "oneapi/dnnl", "omp.h"}},
      {"src/tensor", {"base", "kernels", "gemm"}, {fmt}},
      {"src/autograd", {"base", "kernels", "gemm", "tensor"}, {fmt}},
      {"src/nn", ops, {fmt}},
      {"src/attention_library", {"base", "kernels"}, {fmt}},
      {"src/attention", nn, {fmt}},
      {"src/models", plus(attention, {"text", "data"}), {fmt, json}},
      {"src/search", {"base", "kernels", "tensor", "models"}, {fmt}},
      {"src/metrics", {"base", "text"}, {fmt, json}},
      {"src/report", {"base", "text", "tensor"}, {fmt, json}},
      {"src/translate", plus(engine, {"report"}), {fmt, json}},
      {"src/train", plus(engine, {"report"}), {fmt, json}},
      {"src/corpus", {"base", "text"}, {fmt, json}},
      {"src/lab", plus(engine, {"train", "report", "corpus"}), {fmt, json}},
      {"apps/cli", {"base", "text", "corpus", "lab"}, {fmt, json, "CLI/"}},
  };
}

}  // namespace jumok::rules
