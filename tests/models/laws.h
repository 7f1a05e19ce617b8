// Small random problems for the models' laws.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "base/rng.h"
#include "gradient_check.h"
#include "models/encoder_decoder.h"

namespace jumok {

using Sentences = std::vector<std::vector<int32_t>>;

struct Pairs {
  Sentences source, target;
};

inline Pairs random_pairs(int count, int longest, int vocabulary, uint64_t seed) {
  Rng rng(seed);
  Pairs p;
  for (int i = 0; i < count; ++i) {
    for (Sentences* side : {&p.source, &p.target}) {
      std::vector<int32_t> s(1 + rng.below(longest));
      for (auto& id : s) id = static_cast<int32_t>(3 + rng.below(vocabulary - 3));
      side->push_back(s);
    }
  }
  return p;
}

inline std::vector<float> random_parameters(const EncoderDecoder& model, uint64_t seed) {
  std::vector<float> block(model.layout().size());
  model.layout().initialise(block.data(), seed);
  Rng rng(seed + 1);  // norms and biases off their neutral values too, so that their gradients are tested where they matter
  for (const auto& e : model.layout().entries()) {
    if (!e.is_vector) continue;
    for (int64_t i = 0; i < e.parameter.columns; ++i) block[e.parameter.offset + i] += static_cast<float>(0.1 * rng.normal());
  }
  return block;
}

struct Packed {
  PackedRows source;
  PackedTarget target;
  std::vector<uint32_t> source_keys, target_keys;
  explicit Packed(const Pairs& p) : source(pack_source(p.source)), target(pack_target(p.target)) {
    source_keys = row_keys(source, 1, 2, Side::kSource);
    target_keys = row_keys(target.input, 1, 2, Side::kTarget);
  }
  PairBatch batch(double dropout = 0) const {
    return {source,
            target,
            dropout > 0 ? source_keys : std::span<const uint32_t>(),
            dropout > 0 ? target_keys : std::span<const uint32_t>(),
            dropout,
            dropout,
            0.1};
  }
};

// Every parameter's gradient against finite differences, with dropout on.
inline void expect_gradients(const EncoderDecoder& model, const Packed& packed, double tolerance = 2e-2) {
  std::vector<float> block = random_parameters(model, 5), gradient(block.size());
  Arena arena;
  const auto loss = [&] {
    arena.reset();
    Context context{arena, block.data()};
    return model.loss(context, packed.batch(0.1)).loss;
  };
  Tape tape;
  Context context{arena, block.data(), &tape, gradient.data()};
  const OutputLoss out = model.loss(context, packed.batch(0.1));
  tape.backward();
  EXPECT_DOUBLE_EQ(out.loss, loss());
  for (const auto& e : model.layout().entries()) {
    const Parameter& p = e.parameter;
    SCOPED_TRACE(e.name);
    expect_directional_gradient(block, gradient, p.offset, p.offset + p.rows * p.stride, loss, 3e-3, tolerance, 17);
  }
}

// The gradients of a batch are the sum of its sentences' own.
inline void expect_gradients_add(const EncoderDecoder& model, const Pairs& pairs) {
  std::vector<float> block = random_parameters(model, 5), whole(block.size()), parts(block.size());
  const auto run = [&](const Pairs& p, std::vector<float>& gradient) {
    const Packed packed(p);
    Arena arena;
    Tape tape;
    Context context{arena, block.data(), &tape, gradient.data()};
    const OutputLoss out = model.loss(context, packed.batch());
    tape.backward();
    return out;
  };
  const OutputLoss all = run(pairs, whole);
  double loss = 0;
  int64_t tokens = 0;
  for (size_t i = 0; i < pairs.source.size(); ++i) {
    const OutputLoss one = run({{pairs.source[i]}, {pairs.target[i]}}, parts);
    loss += one.loss;
    tokens += one.tokens;
  }
  EXPECT_EQ(tokens, all.tokens);
  EXPECT_NEAR(loss, all.loss, 1e-4);
  double worst = 0, largest = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    worst = std::max(worst, std::abs(double(whole[i]) - parts[i]));
    largest = std::max(largest, std::abs(double(whole[i])));
  }
  EXPECT_LT(worst, 1e-5 * largest);
}

// Logits of every position, fed step by step, against the negative log-probabilities of the whole-target pass.
inline void expect_steps_equal_whole_target(const EncoderDecoder& model, const Pairs& pairs) {
  const std::vector<float> block = random_parameters(model, 7);
  const Packed packed(pairs);
  Arena arena;
  Context context{arena, block.data()};
  std::vector<float> nll(packed.target.labels.size());
  model.nll(context, packed.batch(), nll.data());

  auto stepper = model.start(block.data(), packed.source);
  std::vector<int32_t> alive(pairs.target.size()), symbols;
  for (size_t i = 0; i < alive.size(); ++i) alive[i] = static_cast<int32_t>(i);
  std::vector<int32_t> parents = alive;
  for (int t = 0; !alive.empty(); ++t) {
    symbols.clear();
    for (const int32_t s : alive) symbols.push_back(packed.target.input.ids[packed.target.input.begin[s] + t]);
    const std::span<float> logits = stepper->step(parents, symbols);
    const int v = stepper->vocabulary();
    std::vector<int32_t> next, next_parents;
    for (size_t r = 0; r < alive.size(); ++r) {
      const int row = packed.target.input.begin[alive[r]] + t;
      double sum = 0, top = -1e30;
      for (int c = 0; c < v; ++c) top = std::max(top, double(logits[r * v + c]));
      for (int c = 0; c < v; ++c) sum += std::exp(logits[r * v + c] - top);
      EXPECT_NEAR(top + std::log(sum) - logits[r * v + packed.target.labels[row]], nll[row], 1e-5)
          << "sentence " << alive[r] << ", step " << t;
      if (t + 1 < packed.target.input.length[alive[r]]) {
        next.push_back(alive[r]);
        next_parents.push_back(static_cast<int32_t>(r));
      }
    }
    alive = next;
    parents = next_parents;
  }
}

// A sentence alone has the bits it has among others.
inline void expect_bits_do_not_depend_on_batch(const EncoderDecoder& model, const Pairs& pairs) {
  const std::vector<float> block = random_parameters(model, 9);
  const Packed together(pairs);
  Arena arena;
  Context context{arena, block.data()};
  std::vector<float> all(together.target.labels.size());
  model.nll(context, together.batch(), all.data());
  for (size_t i = 0; i < pairs.source.size(); ++i) {
    const Packed alone({{pairs.source[i]}, {pairs.target[i]}});
    std::vector<float> one(alone.target.labels.size());
    model.nll(context, alone.batch(), one.data());
    EXPECT_EQ(0, std::memcmp(one.data(), &all[together.target.input.begin[i]], one.size() * sizeof(float))) << "sentence " << i;
  }
}

// The weights are the softmax of the scores that queries and keys give again in float64 (within a local window: of those seen, times the
// Gaussian), and the mix is the weighted sum of the values.
inline void expect_parts_explain_weights(const EncoderDecoder& model, const Packed& packed) {
  const std::vector<float> block = random_parameters(model, 9);
  Arena arena;
  Context context{arena, block.data()};
  AttentionMaps maps;
  maps.parts = true;
  PairBatch batch = packed.batch();
  batch.maps = &maps;
  std::vector<float> nll(packed.target.labels.size());
  model.nll(context, batch, nll.data());
  for (const auto& map : maps.maps) {
    ASSERT_EQ(map.parts.size() * map.heads, map.weights.size()) << map.name;
    for (size_t i = 0; i < map.weights.size(); ++i) {
      const AttentionParts& p = map.parts[i / map.heads];
      const int head = static_cast<int>(i) % map.heads;
      const std::vector<double> scores = scores_of(p, map.heads, head);
      ASSERT_EQ(scores.size(), map.weights[i].size()) << map.name;
      const int64_t columns = p.value.rows, width = p.value.columns / map.heads;
      for (int64_t t = 0; t < p.query.rows; ++t) {
        const float* w = &map.weights[i][t * columns];
        double sum = 0;
        for (int64_t s = 0; s < columns; ++s) sum += w[s] > 0 ? std::exp(scores[t * columns + s]) : 0;
        for (int64_t s = 0; s < columns && p.centre.empty(); ++s) {
          EXPECT_NEAR(w[s], w[s] > 0 ? std::exp(scores[t * columns + s]) / sum : 0, 1e-5) << map.name;
        }
        for (int64_t c = head * width; c < (head + 1) * width; ++c) {
          double mix = 0;
          for (int64_t s = 0; s < columns; ++s) mix += static_cast<double>(w[s]) * p.value.row(s)[c];
          EXPECT_NEAR(p.mixed.row(t)[c], mix, 1e-5) << map.name;
        }
      }
    }
  }
}

}  // namespace jumok
