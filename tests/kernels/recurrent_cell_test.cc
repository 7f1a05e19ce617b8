#include "kernels/recurrent_cell.h"

#include <numeric>

#include "kernels/grid.h"
#include "kernels/ref/recurrent_cell.h"

namespace jumok::kernels {
namespace {

class RecurrentCellTest : public EachTarget {};

struct Variant {
  Cell cell;
  bool reset_after;
  bool resets_before() const { return cell == Cell::kGru && !reset_after; }
};
constexpr Variant kVariants[] = {{Cell::kTanh, true}, {Cell::kGru, true}, {Cell::kGru, false}, {Cell::kLstm, true}};

// Everything a step reads and writes, twice: for the kernel and for its twin. Row r of the step is packed row 2, 0, 4 of 6.
struct Case {
  static constexpr int64_t kSentences = 3, kRows = 6;
  Variant variant;
  int64_t width;
  std::vector<int32_t> row = {2, 0, 4};
  Matrix x, bias, h, c, kept, h_next, c_next, out, dout, dh, dc, dgates, dcandidate, dx, dreset;

  Case(Variant v, int64_t d, int64_t offset, double scale = 1)
      : variant(v),
        width(d),
        x(kRows, gates(v.cell) * d, 3, offset),
        bias(1, gates(v.cell) * d, 0, (offset + 1) % 4),
        h(kSentences, d, 1, offset),
        c(kSentences, d, 2, offset),
        kept(kSentences, kept_columns(), 1, (offset + 2) % 4),
        h_next(kSentences, d, 0, offset),
        c_next(kSentences, d, 1, offset),
        out(kRows, d, 2, (offset + 3) % 4),
        dout(kRows, d, 1, offset),
        dh(kSentences, d, 0, offset),
        dc(kSentences, d, 3, offset),
        dgates(kSentences, (v.resets_before() ? 2 : gates(v.cell)) * d, 1, offset),
        dcandidate(kSentences, d, 1, offset),
        dx(kRows, gates(v.cell) * d, 2, offset),
        dreset(kSentences, d, 0, offset) {
    uint64_t key = 1;
    for (Matrix* m : {&x, &bias, &kept}) m->fill_normal(key++, scale);
    for (Matrix* m : {&h, &c, &dout, &dh, &dc, &dreset}) m->fill_normal(key++);
    out.fill(7), dx.fill_normal(99);
  }
  int64_t kept_columns() const { return kernels::kept(variant.cell) * width; }

  CellStep step(bool with_bias = true) {
    return {variant.cell, variant.reset_after, row.data(),    x.view(),  with_bias ? bias.view().data : nullptr, h.view(), c.view(),
            kept.view(),  h_next.view(),       c_next.view(), out.view()};
  }
  CellGradient gradient(bool accumulate) {
    return {dout.view(), dh.view(), dc.view(), dgates.view(), dcandidate.view(), dx.view(), accumulate, dreset.view()};
  }
  std::vector<Matrix*> results() { return {&kept, &h_next, &c_next, &out, &dh, &dc, &dgates, &dcandidate, &dx}; }
  bool gaps_untouched() {
    for (Matrix* m : results()) {
      if (!m->gaps_untouched()) return false;
    }
    return true;
  }
};

void run_forward(const CellStep& s, bool reset, bool reference) {
  if (reset) reference ? ref::cell_reset(s) : cell_reset(s);
  reference ? ref::cell_forward(s) : cell_forward(s);
}
void run_backward(const CellStep& s, const CellGradient& g, bool reset, bool reference) {
  reference ? ref::cell_backward(s, g) : cell_backward(s, g);
  if (reset) reference ? ref::cell_reset_backward(s, g) : cell_reset_backward(s, g);
}

TEST_P(RecurrentCellTest, EveryCellAgreesWithItsDefinitionOnEveryWidth) {
  for (const Variant& v : kVariants) {
    for (const int64_t width : lengths()) {
      for (int64_t offset = 0; offset < 4; ++offset) {
        const bool with_bias = offset % 2 == 0, accumulate = offset >= 2;
        Case a(v, width, offset), b(v, width, offset);
        run_forward(a.step(with_bias), v.resets_before(), false);
        run_forward(b.step(with_bias), v.resets_before(), true);
        // A gate's sum carries one rounding of each half, of size |x + u| <= 8 here; tanh and sigmoid pass it on at most whole.
        ASSERT_TRUE(close(a.kept.view(), b.kept.view(), 8 * kEpsilon, 8 * kEpsilon));
        ASSERT_TRUE(close(a.h_next.view(), b.h_next.view(), 8 * kEpsilon, 8 * kEpsilon));
        ASSERT_TRUE(close(a.out.view(), b.out.view(), 8 * kEpsilon, 8 * kEpsilon)) << "rows of other sentences stay";
        if (v.cell == Cell::kLstm) {
          ASSERT_TRUE(close(a.c_next.view(), b.c_next.view(), 8 * kEpsilon, 16 * kEpsilon));
        }
        // From the same activations, so that only the backward's own roundings differ.
        for (int64_t r = 0; r < Case::kSentences; ++r) std::copy_n(b.kept.view().row(r), a.kept_columns(), a.kept.view().row(r));
        run_backward(a.step(with_bias), a.gradient(accumulate), v.resets_before(), false);
        run_backward(b.step(with_bias), b.gradient(accumulate), v.resets_before(), true);
        for (size_t i = 4; i < a.results().size(); ++i) {
          ASSERT_TRUE(close(a.results()[i]->view(), b.results()[i]->view(), 8 * kEpsilon, 24 * kEpsilon)) << "result " << i;
        }
        ASSERT_TRUE(a.gaps_untouched());
      }
    }
  }
}

TEST_P(RecurrentCellTest, AnElementsBitsDoNotDependOnWhereInAVectorItStands) {
  for (const Variant& v : kVariants) {
    Case wide(v, 37, 0), narrow(v, 1, 1);
    const auto copy_element = [&](Matrix& from, int64_t from_row, Matrix& to, int64_t to_row, int64_t at) {
      for (int64_t g = 0; g < to.view().columns; ++g) to.at(to_row, g) = from.at(from_row, g * 37 + at);
    };
    for (const int64_t at : {0, 15, 16, 36}) {
      Case whole = wide;
      for (int64_t r = 0; r < Case::kSentences; ++r) {
        copy_element(whole.h, r, narrow.h, r, at), copy_element(whole.c, r, narrow.c, r, at),
            copy_element(whole.kept, r, narrow.kept, r, at);
      }
      for (int64_t r = 0; r < Case::kRows; ++r) copy_element(whole.x, r, narrow.x, r, at);
      copy_element(whole.bias, 0, narrow.bias, 0, at);
      run_forward(whole.step(), v.resets_before(), false);
      run_forward(narrow.step(), v.resets_before(), false);
      for (int64_t r = 0; r < Case::kSentences; ++r) EXPECT_EQ(whole.h_next.at(r, at), narrow.h_next.at(r, 0)) << "column " << at;
    }
  }
}

TEST_P(RecurrentCellTest, StateMayBeWrittenInPlaceAndOutputAndInputGradientMayBeAbsent) {
  for (const Variant& v : kVariants) {
    Case a(v, 19, 1), b(v, 19, 1);
    CellStep in_place = b.step();
    in_place.h_next = b.h.view(), in_place.c_next = b.c.view(), in_place.out = {};
    run_forward(a.step(), v.resets_before(), false);
    run_forward(in_place, v.resets_before(), false);
    EXPECT_TRUE(same_bits(a.h_next.view(), b.h.view()));
    if (v.cell == Cell::kLstm) {
      EXPECT_TRUE(same_bits(a.c_next.view(), b.c.view()));
    }
    for (int64_t c = 0; c < 19; ++c) EXPECT_EQ(b.out.at(2, c), 7) << "no output was wanted";

    Case d(v, 19, 1);  // a and d: the same gradients, but d has no dx and zeros for dout
    run_forward(d.step(), v.resets_before(), false);
    a.dout.fill(0);
    CellGradient without = d.gradient(false);
    without.dout = {}, without.dx = {};
    run_backward(a.step(), a.gradient(false), v.resets_before(), false);
    run_backward(d.step(), without, v.resets_before(), false);
    EXPECT_TRUE(same_bits(a.dgates.view(), d.dgates.view()));
    EXPECT_TRUE(same_bits(a.dh.view(), d.dh.view()));
  }
}

TEST_P(RecurrentCellTest, LargeGatesSaturateWithoutNan) {
  for (const Variant& v : kVariants) {
    for (const double scale : {100.0, 1e4, 1e30}) {
      Case a(v, 35, 0, scale), b(v, 35, 0, scale);
      run_forward(a.step(), v.resets_before(), false);
      run_backward(a.step(), a.gradient(false), v.resets_before(), false);
      run_forward(b.step(), v.resets_before(), true);
      for (int64_t r = 0; r < Case::kSentences; ++r) {
        for (int64_t c = 0; c < 35; ++c) {
          // Only tanh and sigmoid of sums near zero tell the two apart; the sums are rounded at their own size.
          EXPECT_NEAR(a.h_next.at(r, c), b.h_next.at(r, c), scale > 1e4 ? 2e-6 : 4 * scale * kEpsilon);
          EXPECT_TRUE(std::isfinite(a.dh.at(r, c)) && std::isfinite(a.dc.at(r, c)));
        }
        for (int64_t c = 0; c < a.dgates.view().columns; ++c) EXPECT_TRUE(std::isfinite(a.dgates.at(r, c))) << c;
        for (int64_t c = 0; c < a.dx.view().columns; ++c) EXPECT_TRUE(std::isfinite(a.dx.at(a.row[r], c))) << c;
      }
    }
  }
}

TEST_P(RecurrentCellTest, NoSentencesIsNothingToDo) {
  for (const Variant& v : kVariants) {
    CellStep none;
    none.cell = v.cell, none.reset_after = v.reset_after;
    run_forward(none, v.resets_before(), false);
    run_backward(none, {}, v.resets_before(), false);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, RecurrentCellTest, ::testing::ValuesIn(supported_targets()), target_name);

}  // namespace
}  // namespace jumok::kernels
