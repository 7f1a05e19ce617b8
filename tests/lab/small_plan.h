// A plan of two updates of a narrow model on a few pairs: what is trained hardly matters, what comes out of it does.
#pragma once

#include "lab/trained.h"

namespace jumok {

inline void make_small(TrainingPlan& plan) {
  plan.updates = 2;
  plan.width = 16;
  plan.batch_tokens = 64;
  plan.training_pairs = 40;
  plan.test_pairs = 3;
  plan.run.threads = 1;
}

}  // namespace jumok
