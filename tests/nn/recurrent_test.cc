#include "nn/recurrent.h"

#include <gtest/gtest.h>

#include <set>

namespace jumok {
namespace {

using kernels::Cell;

std::set<std::string> names(const ParameterLayout& layout) {
  std::set<std::string> all;
  for (const auto& e : layout.entries()) all.insert(e.name);
  return all;
}

TEST(RecurrentLayer, EachGateHasItsNameAndOnlyAGruThatResetsAfterHasARecurrentBias) {
  const auto count = [](Cell cell, bool reset_after) {
    ParameterLayout layout;
    const Recurrent r = Recurrent::make(layout, "encoder.0", cell, 7, 5, reset_after);
    EXPECT_EQ(r.input.weight.rows, kernels::gates(cell) * 5);
    EXPECT_EQ(r.state.weight.columns, 5);
    EXPECT_EQ(r.state.bias.exists(), cell == Cell::kGru && reset_after);
    return layout.count();
  };
  EXPECT_EQ(count(Cell::kTanh, true), 5 * (7 + 5 + 1));
  EXPECT_EQ(count(Cell::kGru, true), 3 * 5 * (7 + 5 + 2));
  EXPECT_EQ(count(Cell::kGru, false), 3 * 5 * (7 + 5 + 1));
  EXPECT_EQ(count(Cell::kLstm, true), 4 * 5 * (7 + 5 + 1));
  ParameterLayout layout;
  Recurrent::make(layout, "e", Cell::kGru, 7, 5);
  EXPECT_EQ(names(layout), (std::set<std::string>{"e.input.n.bias", "e.input.n.weight", "e.input.r.bias", "e.input.r.weight",
                                                  "e.input.z.bias", "e.input.z.weight", "e.state.n.bias", "e.state.n.weight",
                                                  "e.state.r.bias", "e.state.r.weight", "e.state.z.bias", "e.state.z.weight"}));
}

TEST(RecurrentLayer, TheForgetGateStartsOpenAndTheLayerRuns) {
  ParameterLayout layout;
  const Recurrent r = Recurrent::make(layout, "e", Cell::kLstm, 7, 5);
  std::vector<float> block(layout.size()), x(3 * 7, 0.1f);
  layout.initialise(block.data(), 1);
  Arena arena;
  Context context{arena, block.data()};
  const Tensor bias = context.value(r.input.bias);
  for (int64_t c = 0; c < 20; ++c) EXPECT_EQ(bias.data[c], c / 5 == 1 ? 1.0f : 0.0f) << c;

  const std::vector<int32_t> begin = {0, 2}, length = {2, 1};
  RecurrentInput in = r.over(r.input(context, {{x.data(), 3, 7, 7}, nullptr}));
  in.begin = begin, in.length = length;
  const RecurrentOutput out = recurrent(context, in);
  EXPECT_EQ(out.h.value.rows, 3);
  for (int64_t c = 0; c < 5; ++c) EXPECT_EQ(out.h.value.row(0)[c], out.h.value.row(2)[c]) << "equal rows, equal first states";
}

}  // namespace
}  // namespace jumok
