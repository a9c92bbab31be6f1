#include "engine/host/delta_net.hpp"

#include <algorithm>
#include <cmath>

#include "engine/host/delta_chunk.hpp"
#include "engine/host/elementwise.hpp"
#include "planner/scratch/workspace.hpp"

namespace sluice::engine {
namespace {

constexpr float kLengthEps = 1e-6F;

/// Places of a token's heads within its q, k and v.
struct HeadPlaces {
  HeadPlaces(const DeltaSizes& sizes, std::int64_t head)
      : q(head / (sizes.value_heads / sizes.key_heads) * sizes.key_dim),
        k(q + sizes.keys()),
        v(2 * sizes.keys() + head * sizes.value_dim) {}
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

/// Scratch of the rule: one chunk, and matrices of one head.
struct RuleScratch {
  RuleScratch(const DeltaSizes& sizes, float* memory)
      : chunk(sizes.key_dim, sizes.value_dim, memory),
        state(memory + planner::delta_chunk_floats(sizes)),
        d_state(state + sizes.key_dim * sizes.value_dim),
        out(d_state + sizes.key_dim * sizes.value_dim),
        d_out(out + kDeltaChunk * sizes.value_dim),
        states(d_out + kDeltaChunk * sizes.value_dim) {}
  DeltaChunk chunk;
  float *state, *d_state;  ///< [key_dim, value_dim].
  float *out, *d_out;      ///< [chunk, value_dim].
  float* states;           ///< States before the chunks of a document.
};

/// Calls visit(first, tokens) for each chunk of the document [begin, end).
template <class Visit>
void for_chunks(std::int64_t begin, std::int64_t end, const Visit& visit) {
  for (std::int64_t first = begin; first < end; first += kDeltaChunk) {
    visit(first, std::min(kDeltaChunk, end - first));
  }
}

/// Rule over one document of one head; the state after it is then in `scratch`.
void run_document(const DeltaSizes& sizes, const DeltaInputs& inputs, std::int64_t head,
                  std::int64_t begin, std::int64_t end, RuleScratch& scratch, float* o) {
  std::fill_n(scratch.state, sizes.key_dim * sizes.value_dim, 0.0F);
  for_chunks(begin, end, [&](std::int64_t first, std::int64_t tokens) {
    scratch.chunk.tokens = tokens;
    load(sizes, inputs, head, first, scratch.chunk);
    scratch.chunk.forward(scratch.state, scratch.out);
    for (std::int64_t i = 0; i < tokens; ++i) {
      std::copy_n(scratch.out + i * sizes.value_dim, sizes.value_dim,
                  o + ((first + i) * sizes.value_heads + head) * sizes.value_dim);
    }
  });
}

void run_document_backward(const DeltaSizes& sizes, const DeltaInputs& inputs, std::int64_t head,
                           std::int64_t begin, std::int64_t end, RuleScratch& scratch,
                           const float* d_o, const DeltaGradients& gradients) {
  const std::int64_t matrix = sizes.key_dim * sizes.value_dim;
  std::fill_n(scratch.state, matrix, 0.0F);
  for_chunks(begin, end, [&](std::int64_t first, std::int64_t tokens) {
    std::copy_n(scratch.state, matrix, scratch.states + (first - begin) / kDeltaChunk * matrix);
    if (first + tokens == end) return;
    scratch.chunk.tokens = tokens;
    load(sizes, inputs, head, first, scratch.chunk);
    scratch.chunk.advance(scratch.state);
  });
  std::fill_n(scratch.d_state, matrix, 0.0F);
  const std::int64_t last = (end - begin - 1) / kDeltaChunk;
  for (std::int64_t c = last; c >= 0; --c) {
    const std::int64_t first = begin + c * kDeltaChunk;
    scratch.chunk.tokens = std::min(kDeltaChunk, end - first);
    load(sizes, inputs, head, first, scratch.chunk);
    for (std::int64_t i = 0; i < scratch.chunk.tokens; ++i) {
      std::copy_n(d_o + ((first + i) * sizes.value_heads + head) * sizes.value_dim, sizes.value_dim,
                  scratch.d_out + i * sizes.value_dim);
    }
    scratch.chunk.backward(scratch.states + c * matrix, scratch.d_out, scratch.d_state);
    store(sizes, inputs, head, first, scratch.chunk, gradients);
  }
}

}  // namespace

void delta_rule(planner::ComputeType compute, const DeltaSizes& sizes, DocumentBounds documents,
                const DeltaInputs& inputs, float* scratch, float* o, float* last) {
  const std::int64_t matrix = sizes.key_dim * sizes.value_dim;
  RuleScratch rule(sizes, scratch);
  for (std::int64_t head = 0; head < sizes.value_heads; ++head) {
    for (std::size_t i = 0; i + 1 < documents.size(); ++i) {
      run_document(sizes, inputs, head, documents[i], documents[i + 1], rule, o);
    }
    if (last != nullptr) std::copy_n(rule.state, matrix, last + head * matrix);
  }
  elementwise(compute).round(o, documents.back() * sizes.values());
}

void delta_rule_backward(planner::ComputeType compute, const DeltaSizes& sizes,
                         DocumentBounds documents, const DeltaInputs& inputs, float* scratch,
                         const float* d_o, const DeltaGradients& gradients) {
  RuleScratch rule(sizes, scratch);
  std::fill_n(gradients.mixed, documents.back() * sizes.channels(), 0.0F);
  for (std::int64_t head = 0; head < sizes.value_heads; ++head) {
    for (std::size_t i = 0; i + 1 < documents.size(); ++i) {
      run_document_backward(sizes, inputs, head, documents[i], documents[i + 1], rule, d_o,
                            gradients);
    }
  }
  elementwise(compute).round(gradients.mixed, documents.back() * sizes.channels());
}

void delta_rule_step(planner::ComputeType compute, const DeltaSizes& sizes,
                     const DeltaInputs& inputs, float* state, float* scratch, float* o) {
  float* q = scratch;
  float* k = q + sizes.key_dim;
  float* added = k + sizes.key_dim;
  for (std::int64_t head = 0; head < sizes.value_heads; ++head) {
    const HeadPlaces places(sizes, head);
    normalise(inputs.mixed + places.q, sizes.key_dim, query_scale(sizes), q);
    normalise(inputs.mixed + places.k, sizes.key_dim, 1, k);
    const float decay = std::exp(inputs.g[head]);
    float* s = state + head * sizes.key_dim * sizes.value_dim;
    float* out = o + head * sizes.value_dim;
    std::fill_n(added, sizes.value_dim, 0.0F);
    for (std::int64_t r = 0; r < sizes.key_dim; ++r) {
      for (std::int64_t c = 0; c < sizes.value_dim; ++c) {
        s[r * sizes.value_dim + c] *= decay;
        added[c] += s[r * sizes.value_dim + c] * k[r];
      }
    }
    for (std::int64_t c = 0; c < sizes.value_dim; ++c) {
      float& each = added[c];
      each = inputs.beta[head] * (inputs.mixed[places.v + c] - each);
    }
    std::fill_n(out, sizes.value_dim, 0.0F);
    for (std::int64_t r = 0; r < sizes.key_dim; ++r) {
      for (std::int64_t c = 0; c < sizes.value_dim; ++c) {
        float& element = s[r * sizes.value_dim + c];
        element += k[r] * added[c];
        out[c] += element * q[r];
      }
    }
  }
  elementwise(compute).round(o, sizes.value_heads * sizes.value_dim);
}

}  // namespace sluice::engine
