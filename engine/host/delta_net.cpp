#include "engine/host/delta_net.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/host/delta_chunk.hpp"
#include "engine/host/elementwise.hpp"

namespace sluice::engine {
namespace {

constexpr float kLengthEps = 1e-6F;

/// Places of a token's heads within its q, k and v.
struct HeadPlaces {
  HeadPlaces(const DeltaSizes& sizes, std::int64_t head)
      : q(head / (sizes.value_heads / sizes.key_heads) * sizes.key_dim),
        k(q + sizes.key_heads * sizes.key_dim),
        v(2 * sizes.key_heads * sizes.key_dim + head * sizes.value_dim) {}
  std::int64_t q, k, v;
};

/// 1 / (|x|^2 + eps)^1/2.
float inverse_length(const float* x, std::int64_t n) {
  return 1 / std::sqrt(elementwise(planner::ComputeType::fp32).dot(x, x, n) + kLengthEps);
}

void normalise(const float* x, std::int64_t n, float scale, float* out) {
  const float factor = inverse_length(x, n);
  for (std::int64_t c = 0; c < n; ++c) out[c] = x[c] * factor * scale;
}

/// d_x += gradient through normalise, whose output was `scale` times the unit vector. With u the
/// unit vector and du its gradient: dx = (du - u (u du)) / |x|.
void add_normalise_backward(const float* x, std::int64_t n, float scale, const float* d_out,
                            float* d_x) {
  const float factor = inverse_length(x, n);
  const float along = elementwise(planner::ComputeType::fp32).dot(x, d_out, n) * factor * factor;
  for (std::int64_t c = 0; c < n; ++c) d_x[c] += factor * scale * (d_out[c] - x[c] * along);
}

float query_scale(const DeltaSizes& sizes) {
  return 1 / std::sqrt(static_cast<float>(sizes.key_dim));
}

/// Fills a chunk's inputs from tokens [first, first + chunk.tokens) of one head.
void load(const DeltaSizes& sizes, const DeltaInputs& inputs, std::int64_t head, std::int64_t first,
          DeltaChunk& chunk) {
  const HeadPlaces places(sizes, head);
  for (std::int64_t i = 0; i < chunk.tokens; ++i) {
    const float* token = inputs.mixed + (first + i) * sizes.channels();
    normalise(token + places.q, sizes.key_dim, query_scale(sizes),
              chunk.q.data() + i * sizes.key_dim);
    normalise(token + places.k, sizes.key_dim, 1, chunk.k.data() + i * sizes.key_dim);
    std::copy_n(token + places.v, sizes.value_dim, chunk.v.data() + i * sizes.value_dim);
    const auto at = static_cast<std::size_t>(i);
    chunk.g[at] = inputs.g[(first + i) * sizes.value_heads + head];
    chunk.beta[at] = inputs.beta[(first + i) * sizes.value_heads + head];
  }
}

/// Adds a chunk's gradients to those of its tokens.
void store(const DeltaSizes& sizes, const DeltaInputs& inputs, std::int64_t head,
           std::int64_t first, const DeltaChunk& chunk, const DeltaGradients& gradients) {
  const HeadPlaces places(sizes, head);
  for (std::int64_t i = 0; i < chunk.tokens; ++i) {
    const float* token = inputs.mixed + (first + i) * sizes.channels();
    float* d_token = gradients.mixed + (first + i) * sizes.channels();
    add_normalise_backward(token + places.q, sizes.key_dim, query_scale(sizes),
                           chunk.d_q.data() + i * sizes.key_dim, d_token + places.q);
    add_normalise_backward(token + places.k, sizes.key_dim, 1, chunk.d_k.data() + i * sizes.key_dim,
                           d_token + places.k);
    std::copy_n(chunk.d_v.data() + i * sizes.value_dim, sizes.value_dim, d_token + places.v);
    const auto at = static_cast<std::size_t>(i);
    gradients.g[(first + i) * sizes.value_heads + head] = chunk.d_g[at];
    gradients.beta[(first + i) * sizes.value_heads + head] = chunk.d_beta[at];
  }
}

/// A chunk of a document.
struct ChunkPlace {
  std::int64_t first, tokens;
  bool begins, ends;  ///< Whether it is the first, and the last, of its document.
};

std::vector<ChunkPlace> chunk_places(DocumentBounds documents) {
  std::vector<ChunkPlace> places;
  for (std::size_t i = 0; i + 1 < documents.size(); ++i) {
    for (std::int64_t first = documents[i]; first < documents[i + 1]; first += kDeltaChunk) {
      const std::int64_t tokens = std::min(kDeltaChunk, documents[i + 1] - first);
      places.push_back({first, tokens, first == documents[i], first + tokens == documents[i + 1]});
    }
  }
  return places;
}

}  // namespace

std::int64_t delta_chunks(DocumentBounds documents) { return std::ssize(chunk_places(documents)); }

void delta_rule(planner::ComputeType compute, const DeltaSizes& sizes, DocumentBounds documents,
                const DeltaInputs& inputs, float* o, float* states, float* last) {
  const std::int64_t matrix = sizes.key_dim * sizes.value_dim;
  const auto places = chunk_places(documents);
  DeltaChunk chunk(sizes.key_dim, sizes.value_dim);
  std::vector<float> state(static_cast<std::size_t>(matrix));
  std::vector<float> out(static_cast<std::size_t>(kDeltaChunk * sizes.value_dim));
  for (std::int64_t head = 0; head < sizes.value_heads; ++head) {
    for (std::size_t c = 0; c < places.size(); ++c) {
      const ChunkPlace& place = places[c];
      if (place.begins) std::fill(state.begin(), state.end(), 0.0F);
      if (states != nullptr) {
        std::copy(state.begin(), state.end(),
                  states + static_cast<std::int64_t>(c) * sizes.state() + head * matrix);
      }
      chunk.tokens = place.tokens;
      load(sizes, inputs, head, place.first, chunk);
      chunk.forward(state.data(), out.data());
      for (std::int64_t i = 0; i < place.tokens; ++i) {
        std::copy_n(out.data() + i * sizes.value_dim, sizes.value_dim,
                    o + ((place.first + i) * sizes.value_heads + head) * sizes.value_dim);
      }
    }
    if (last != nullptr) std::copy(state.begin(), state.end(), last + head * matrix);
  }
  elementwise(compute).round(o, documents.back() * sizes.value_heads * sizes.value_dim);
}

void delta_rule_backward(planner::ComputeType compute, const DeltaSizes& sizes,
                         DocumentBounds documents, const DeltaInputs& inputs, const float* states,
                         const float* d_o, const DeltaGradients& gradients) {
  const std::int64_t matrix = sizes.key_dim * sizes.value_dim;
  const auto places = chunk_places(documents);
  DeltaChunk chunk(sizes.key_dim, sizes.value_dim);
  std::vector<float> d_state(static_cast<std::size_t>(matrix));
  std::vector<float> d_out(static_cast<std::size_t>(kDeltaChunk * sizes.value_dim));
  std::fill_n(gradients.mixed, documents.back() * sizes.channels(), 0.0F);
  for (std::int64_t head = 0; head < sizes.value_heads; ++head) {
    for (std::size_t c = places.size(); c-- > 0;) {
      const ChunkPlace& place = places[c];
      if (place.ends) std::fill(d_state.begin(), d_state.end(), 0.0F);
      chunk.tokens = place.tokens;
      load(sizes, inputs, head, place.first, chunk);
      for (std::int64_t i = 0; i < place.tokens; ++i) {
        std::copy_n(d_o + ((place.first + i) * sizes.value_heads + head) * sizes.value_dim,
                    sizes.value_dim, d_out.data() + i * sizes.value_dim);
      }
      chunk.backward(states + static_cast<std::int64_t>(c) * sizes.state() + head * matrix,
                     d_out.data(), d_state.data());
      store(sizes, inputs, head, place.first, chunk, gradients);
    }
  }
  elementwise(compute).round(gradients.mixed, documents.back() * sizes.channels());
}

void delta_rule_step(planner::ComputeType compute, const DeltaSizes& sizes,
                     const DeltaInputs& inputs, float* state, float* o) {
  std::vector<float> q(static_cast<std::size_t>(sizes.key_dim)), k(q);
  std::vector<float> added(static_cast<std::size_t>(sizes.value_dim));
  for (std::int64_t head = 0; head < sizes.value_heads; ++head) {
    const HeadPlaces places(sizes, head);
    normalise(inputs.mixed + places.q, sizes.key_dim, query_scale(sizes), q.data());
    normalise(inputs.mixed + places.k, sizes.key_dim, 1, k.data());
    const float decay = std::exp(inputs.g[head]);
    float* s = state + head * sizes.key_dim * sizes.value_dim;
    float* out = o + head * sizes.value_dim;
    std::fill(added.begin(), added.end(), 0.0F);
    for (std::int64_t r = 0; r < sizes.key_dim; ++r) {
      for (std::int64_t c = 0; c < sizes.value_dim; ++c) {
        s[r * sizes.value_dim + c] *= decay;
        added[static_cast<std::size_t>(c)] +=
            s[r * sizes.value_dim + c] * k[static_cast<std::size_t>(r)];
      }
    }
    for (std::int64_t c = 0; c < sizes.value_dim; ++c) {
      float& each = added[static_cast<std::size_t>(c)];
      each = inputs.beta[head] * (inputs.mixed[places.v + c] - each);
    }
    std::fill_n(out, sizes.value_dim, 0.0F);
    for (std::int64_t r = 0; r < sizes.key_dim; ++r) {
      for (std::int64_t c = 0; c < sizes.value_dim; ++c) {
        float& element = s[r * sizes.value_dim + c];
        element += k[static_cast<std::size_t>(r)] * added[static_cast<std::size_t>(c)];
        out[c] += element * q[static_cast<std::size_t>(r)];
      }
    }
  }
  elementwise(compute).round(o, sizes.value_heads * sizes.value_dim);
}

}  // namespace sluice::engine
