#include "models/embeddings.h"

namespace jumok {

Embeddings make_embeddings(ParameterLayout& layout, const ModelConfig& config) {
  const auto embedding = [&](const char* name, int vocabulary) {
    return layout.matrix(name, vocabulary, config.width, Initial::kEmbedding);
  };
  Embeddings e;
  if (config.tying == Tying::kAll) {
    e.source = e.target = e.output = embedding("embedding.weight", config.target_vocabulary);
    return e;
  }
  e.source = embedding("encoder.embedding.weight", config.source_vocabulary);
  e.target = embedding("decoder.embedding.weight", config.target_vocabulary);
  e.output = config.tying == Tying::kTargetOutput ? e.target : embedding("output.weight", config.target_vocabulary);
  return e;
}

}  // namespace jumok
