// The cells that every test of recurrent layers goes through.
#pragma once

#include <string>
#include <vector>

#include "kernels/recurrent_cell.h"

namespace jumok {

struct RecurrentVariant {
  kernels::Cell cell;
  bool reset_after = true;

  bool resets_before() const { return cell == kernels::Cell::kGru && !reset_after; }
  std::string name() const {
    return cell == kernels::Cell::kTanh ? "Tanh" : cell == kernels::Cell::kLstm ? "Lstm" : reset_after ? "GruResetAfter" : "GruResetBefore";
  }
};

inline std::vector<RecurrentVariant> recurrent_variants() {
  using kernels::Cell;
  return {{Cell::kTanh}, {Cell::kGru, true}, {Cell::kGru, false}, {Cell::kLstm}};
}

}  // namespace jumok
