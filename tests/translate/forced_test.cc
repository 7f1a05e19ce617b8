// Forced decoding of many pairs, as many at once as memory is kept for.
#include "translate/forced.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/float_mode.h"
#include "base/workers.h"
#include "tiny_model.h"

namespace jumok {
namespace {

class ForcedInTurn : public ::testing::Test {
 protected:
  ForcedInTurn() { options_.maps = true; }
  static LoadedModel tiny() {
    const TemporaryFolder folder;
    write_tiny_model(folder.path());
    return load_model(folder.path());
  }
  // The numbers of the pairs taken, until the last or an error.
  std::vector<size_t> taken(const std::vector<SymbolPair>& pairs) {
    std::vector<size_t> numbers;
    try {
      force_in_turn(*model_.model, model_.parameters->data(), pairs, options_, workers_, [&](size_t i, Forced&) { numbers.push_back(i); });
    } catch (const Error&) {
    }
    return numbers;
  }

  LoadedModel model_ = tiny();
  Workers workers_{2, flush_denormals};
  ForcedOptions options_;
};

TEST_F(ForcedInTurn, PartsOfAnySizeGiveTheBitsOfAllAtOnceInOrder) {
  const std::vector<SymbolPair> pairs = {{{5, 6, 7}, {8}}, {{9}, {10, 11, 12, 13}}, {{}, {}}, {{5}, {6, 7}}, {{8, 9}, {10}}};
  const std::vector<Forced> all = force(*model_.model, model_.parameters->data(), pairs, options_, workers_);
  for (const int64_t most : {int64_t{1}, int64_t{100}, int64_t{300}, ForcedOptions{}.most_weights}) {
    options_.most_weights = most;
    size_t next = 0;
    force_in_turn(*model_.model, model_.parameters->data(), pairs, options_, workers_, [&](size_t i, const Forced& forced) {
      ASSERT_EQ(i, next++);
      EXPECT_EQ(forced.log_prob, all[i].log_prob);
      ASSERT_EQ(forced.maps.size(), all[i].maps.size());
      for (size_t m = 0; m < forced.maps.size(); ++m) EXPECT_EQ(forced.maps[m].weights, all[i].maps[m].weights);
    });
    EXPECT_EQ(next, pairs.size()) << most;
  }
  EXPECT_TRUE(taken({}).empty());
}

// A pair that is refused shows which ones were to be there with it. Each counts its longer side, end symbol included, squared.
TEST_F(ForcedInTurn, NoMorePairsAreThereAtOnceThanMemoryIsKeptFor) {
  const std::vector<int32_t> forty(40, 5);
  const std::vector<SymbolPair> pairs = {{forty, {8}}, {{9}, forty}, {forty, {}}, {forty, forty}, {{}, std::vector<int32_t>(64, 6)}};
  const int64_t matrices = count_matrices(*model_.model, model_.parameters->data(), options_, workers_);
  const int64_t both = (41 * 41 + 65 * 65) * matrices, all = both + 3 * 41 * 41 * matrices;
  for (const auto& [most, before] :
       {std::pair{int64_t{1}, 4}, std::pair{both - 1, 4}, std::pair{both, 3}, std::pair{all - 1, 4}, std::pair{all, 0}}) {
    options_.most_weights = most;
    EXPECT_EQ(std::ssize(taken(pairs)), before) << most;
  }
}

TEST_F(ForcedInTurn, MatricesAreThoseOfAllAttentionsOrOfTheOneAskedFor) {
  const ModelConfig& c = model_.config;
  EXPECT_EQ(count_matrices(*model_.model, model_.parameters->data(), options_, workers_),
            (c.encoder_layers + 2 * c.decoder_layers) * c.heads);
  options_.only = model_.model->source_attentions().front();
  EXPECT_EQ(count_matrices(*model_.model, model_.parameters->data(), options_, workers_), c.heads);
}

}  // namespace
}  // namespace jumok
