#include "engine/host/delta_conv.hpp"

#include <algorithm>
#include <cmath>

#include "engine/host/elementwise.hpp"
#include "engine/host/sigmoid.hpp"

namespace sluice::engine {
namespace {

/// Adds up the taps, oldest token first; taps that would lie before the document are left out.
void add_taps(std::int64_t channels, const float* x, const float* weight, std::int64_t present,
              float* sum) {
  std::fill_n(sum, channels, 0.0F);
  for (std::int64_t tap = kDeltaTaps - present; tap < kDeltaTaps; ++tap) {
    const float* token = x + (tap - kDeltaTaps + 1) * channels;
    for (std::int64_t c = 0; c < channels; ++c) {
      sum[c] += weight[c * kDeltaTaps + tap] * token[c];
    }
  }
}

/// Calls visit(token, present) for every token, with the number of taps within its document.
template <class Visit>
void for_tokens(DocumentBounds documents, const Visit& visit) {
  for (std::size_t i = 0; i + 1 < documents.size(); ++i) {
    for (std::int64_t t = documents[i]; t < documents[i + 1]; ++t) {
      visit(t, std::min(t - documents[i] + 1, kDeltaTaps));
    }
  }
}

}  // namespace

void delta_conv(planner::ComputeType compute, DocumentBounds documents, std::int64_t channels,
                const float* x, const float* weight, float* y) {
  for_tokens(documents, [&](std::int64_t t, std::int64_t present) {
    float* out = y + t * channels;
    add_taps(channels, x + t * channels, weight, present, out);
    for (std::int64_t c = 0; c < channels; ++c) out[c] *= sigmoid(out[c]);
    elementwise(compute).round(out, channels);
  });
}

void delta_conv_backward(planner::ComputeType compute, DocumentBounds documents,
                         std::int64_t channels, const float* x, const float* weight,
                         const float* d_y, float* scratch, float* d_x, float* d_weight) {
  std::fill_n(d_x, documents.back() * channels, 0.0F);
  float* sum = scratch;
  for_tokens(documents, [&](std::int64_t t, std::int64_t present) {
    add_taps(channels, x + t * channels, weight, present, sum);
    for (std::int64_t c = 0; c < channels; ++c) {
      // silu'(s) = sigma(s) (1 + s (1 - sigma(s))).
      const float s = sum[c], gate = sigmoid(s);
      sum[c] = d_y[t * channels + c] * gate * (1 + s * (1 - gate));
    }
    for (std::int64_t tap = kDeltaTaps - present; tap < kDeltaTaps; ++tap) {
      const std::int64_t token = (t + tap - kDeltaTaps + 1) * channels;
      for (std::int64_t c = 0; c < channels; ++c) {
        const float d = sum[c];
        d_x[token + c] += weight[c * kDeltaTaps + tap] * d;
        d_weight[c * kDeltaTaps + tap] += d * x[token + c];
      }
    }
  });
  elementwise(compute).round(d_x, documents.back() * channels);
}

void delta_conv_step(planner::ComputeType compute, std::int64_t channels, const float* x,
                     const float* weight, float* window, float* y) {
  std::fill_n(y, channels, 0.0F);
  for (std::int64_t tap = 0; tap < kDeltaTaps; ++tap) {
    const float* token = tap + 1 < kDeltaTaps ? window + tap * channels : x;
    for (std::int64_t c = 0; c < channels; ++c) y[c] += weight[c * kDeltaTaps + tap] * token[c];
  }
  for (std::int64_t c = 0; c < channels; ++c) y[c] *= sigmoid(y[c]);
  elementwise(compute).round(y, channels);
  std::copy(window + channels, window + (kDeltaTaps - 1) * channels, window);
  std::copy_n(x, channels, window + (kDeltaTaps - 2) * channels);
}

}  // namespace sluice::engine
