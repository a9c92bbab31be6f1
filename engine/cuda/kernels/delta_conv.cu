#include <algorithm>

#include "engine/cuda/kernels/activations.cuh"
#include "engine/cuda/kernels/delta_conv.hpp"
#include "engine/cuda/kernels/partial_sums.hpp"
#include "planner/models/delta_net.hpp"
#include "sim/error.hpp"

namespace sluice::engine::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kTaps = static_cast<int>(planner::kDeltaTaps);
constexpr int kStretch = 16;  ///< Tokens that a thread of the forward pass computes.

/// Walks through tokens and knows how many taps of each lie within its document.
class Taps {
 public:
  __device__ Taps(const DeltaConvShape& shape, std::int64_t first)
      : starts_(shape.starts),
        length_(static_cast<int>(shape.length)),
        position_(static_cast<int>(first) % length_) {}
  /// Taps of token t, which is one behind the last call's.
  __device__ int next(std::int64_t t) {
    const int start = starts_ == nullptr ? 0 : starts_[t];
    const int present = min(position_ - start + 1, kTaps);
    if (++position_ == length_) position_ = 0;
    return present;
  }

 private:
  const std::int32_t* starts_;
  int length_, position_;
};

/// Weights of eight neighbouring channels.
struct EightTaps {
  float of[kVector][kTaps];

  __device__ static EightTaps load_from(const std::uint16_t* weight, std::int64_t channel) {
    EightTaps taps;
#pragma unroll
    for (int i = 0; i < kTaps; ++i) {
      const Eight part = Eight::unpack(load(weight, channel * kTaps + i * kVector));
#pragma unroll
      for (int j = 0; j < kVector; ++j) {
        taps.of[(i * kVector + j) / kTaps][(i * kVector + j) % kTaps] = part.value[j];
      }
    }
    return taps;
  }
};

/// Outputs of eight channels from their inputs, oldest first; the first taps may be absent.
__device__ Eight outputs(const EightTaps& weight, const Eight (&x)[kTaps], int present) {
  Eight y;
#pragma unroll
  for (int c = 0; c < kVector; ++c) {
    float sum = 0;
#pragma unroll
    for (int tap = 0; tap < kTaps; ++tap) {
      if (tap >= kTaps - present) sum = fmaf(weight.of[c][tap], x[tap].value[c], sum);
    }
    y.value[c] = sum * fast_sigmoid(sum);
  }
  return y;
}

__device__ void move_on(Eight (&x)[kTaps]) {
#pragma unroll
  for (int tap = 0; tap + 1 < kTaps; ++tap) x[tap] = x[tap + 1];
}

__global__ void __launch_bounds__(kThreads)
    convolve(DeltaConvShape shape, const std::uint16_t* __restrict__ x,
             const std::uint16_t* __restrict__ weight, std::uint16_t* __restrict__ y) {
  const std::int64_t channel =
      (static_cast<std::int64_t>(blockIdx.y) * kThreads + threadIdx.x) * kVector;
  if (channel >= shape.channels) return;
  const EightTaps taps = EightTaps::load_from(weight, channel);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kStretch;
  const std::int64_t end = min(shape.tokens, first + kStretch);
  Eight seen[kTaps];
#pragma unroll
  for (int tap = 1; tap < kTaps; ++tap) {
    const std::int64_t t = first - kTaps + tap;
    seen[tap] = Eight::unpack(t < 0 ? make_uint4(0, 0, 0, 0) : load(x, t * shape.row + channel));
  }
  Taps walk(shape, first);
#pragma unroll 4
  for (std::int64_t t = first; t < end; ++t) {
    move_on(seen);
    seen[kTaps - 1] = Eight::unpack(load(x, t * shape.row + channel));
    store(y, t * shape.channels + channel, outputs(taps, seen, walk.next(t)).packed());
  }
}

__global__ void __launch_bounds__(kThreads)
    convolve_on(DeltaConvShape shape, const std::uint16_t* x, const std::uint16_t* weight,
                float* window, std::uint16_t* y) {
  const std::int64_t channel =
      (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kVector;
  if (channel >= shape.channels) return;
  const EightTaps taps = EightTaps::load_from(weight, channel);
  Eight seen[kTaps];
#pragma unroll
  for (int tap = 1; tap < kTaps; ++tap) {
#pragma unroll
    for (int c = 0; c < kVector; ++c) {
      seen[tap].value[c] = window[(tap - 1) * shape.channels + channel + c];
    }
  }
  for (std::int64_t t = 0; t < shape.tokens; ++t) {
    move_on(seen);
    seen[kTaps - 1] = Eight::unpack(load(x, t * shape.row + channel));
    store(y, t * shape.channels + channel, outputs(taps, seen, kTaps).packed());
  }
#pragma unroll
  for (int tap = 1; tap < kTaps; ++tap) {
#pragma unroll
    for (int c = 0; c < kVector; ++c) {
      window[(tap - 1) * shape.channels + channel + c] = seen[tap].value[c];
    }
  }
}

__device__ float2 load_two(const std::uint16_t* data, std::int64_t index) {
  const std::uint32_t pair = *reinterpret_cast<const std::uint32_t*>(data + index);
  return make_float2(low_half(pair), high_half(pair));
}

/// Weights, inputs and gradients of one channel that a thread of the backward pass holds.
struct ChannelGradient {
  float weight[kTaps], x[kTaps];  ///< Taps, and inputs of the present token, oldest first.
  float d_weight[kTaps] = {}, d_x[kTaps] = {};

  __device__ void move_on(float next) {
#pragma unroll
    for (int tap = 0; tap + 1 < kTaps; ++tap) {
      x[tap] = x[tap + 1];
      d_x[tap] = d_x[tap + 1];
    }
    x[kTaps - 1] = next;
    d_x[kTaps - 1] = 0;
  }
  /// Adds what the present token's output passes back; `counts`: whether to its weights too.
  __device__ void add(float d_y, int present, bool counts) {
    float sum = 0;
#pragma unroll
    for (int tap = 0; tap < kTaps; ++tap) {
      if (tap >= kTaps - present) sum = fmaf(weight[tap], x[tap], sum);
    }
    // silu'(s) = sigma(s) (1 + s (1 - sigma(s))).
    const float gate = fast_sigmoid(sum);
    const float d = d_y * gate * fmaf(sum, 1.0f - gate, 1.0f);
#pragma unroll
    for (int tap = 0; tap < kTaps; ++tap) {
      if (tap < kTaps - present) continue;
      d_x[tap] = fmaf(weight[tap], d, d_x[tap]);
      if (counts) d_weight[tap] = fmaf(d, x[tap], d_weight[tap]);
    }
  }
};

/// Block (c, s) has the c-th 256 channels, two a thread, of tokens [s * rows_each, (s + 1) *
/// rows_each); it also reads three tokens on both sides.
__global__ void __launch_bounds__(kThreads)
    pass_back(DeltaConvShape shape, const std::uint16_t* __restrict__ x,
              const std::uint16_t* __restrict__ weight, const std::uint16_t* __restrict__ d_y,
              std::int64_t rows_each, std::uint16_t* __restrict__ d_x,
              float* __restrict__ partials) {
  const std::int64_t channel = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * 2;
  if (channel >= shape.channels) return;
  const std::int64_t first = blockIdx.y * rows_each;
  const std::int64_t end = min(shape.tokens, first + rows_each);
  ChannelGradient low, high;
#pragma unroll
  for (int tap = 0; tap < kTaps; ++tap) {
    low.weight[tap] = low_half(weight[channel * kTaps + tap]);
    high.weight[tap] = low_half(weight[(channel + 1) * kTaps + tap]);
    const std::int64_t t = first - kTaps + tap;
    const float2 before = t < 0 ? make_float2(0, 0) : load_two(x, t * shape.row + channel);
    low.x[tap] = before.x;
    high.x[tap] = before.y;
  }
  Taps walk(shape, first);
#pragma unroll 4
  for (std::int64_t t = first; t < end + kTaps - 1; ++t) {
    const bool exists = t < shape.tokens;
    const float2 now = exists ? load_two(x, t * shape.row + channel) : make_float2(0, 0);
    low.move_on(now.x);
    high.move_on(now.y);
    if (exists) {
      const float2 d = load_two(d_y, t * shape.channels + channel);
      const int present = walk.next(t);
      low.add(d.x, present, t < end);
      high.add(d.y, present, t < end);
    }
    const std::int64_t done = t - kTaps + 1;
    if (done >= first && done < end) {
      *reinterpret_cast<std::uint32_t*>(d_x + done * shape.row + channel) =
          pack(low.d_x[0], high.d_x[0]);
    }
  }
  float* out = partials + (blockIdx.y * shape.channels + channel) * kTaps;
#pragma unroll
  for (int tap = 0; tap < kTaps; ++tap) {
    out[tap] = low.d_weight[tap];
    out[kTaps + tap] = high.d_weight[tap];
  }
}

/// Number of ranges of tokens with a partial sum, which fixes the order of sums.
std::int64_t splits(std::int64_t tokens) {
  return std::min<std::int64_t>(ceil_div(tokens, 64), 64);
}

void check_conv(const DeltaConvShape& shape) {
  check(shape.tokens > 0 && shape.length > 0 && shape.tokens <= INT32_MAX && shape.channels > 0 &&
            shape.channels % kVector == 0 && shape.row % kVector == 0 &&
            shape.row >= shape.channels,
        "channels and rows of a convolution are multiples of 8");
}

}  // namespace

void delta_conv(CUstream_st* stream, const DeltaConvShape& shape, const std::uint16_t* x,
                const std::uint16_t* weight, std::uint16_t* y) {
  check_conv(shape);
  check(aligned(x, weight, y), "the operands of a convolution are 16-byte aligned");
  const dim3 grid(static_cast<unsigned>(ceil_div(shape.tokens, kStretch)),
                  static_cast<unsigned>(ceil_div(shape.channels / kVector, kThreads)));
  convolve<<<grid, kThreads, 0, stream>>>(shape, x, weight, y);
  check_launch("delta_conv");
}

void delta_conv_backward(CUstream_st* stream, const DeltaConvShape& shape, const std::uint16_t* x,
                         const std::uint16_t* weight, const std::uint16_t* d_y, std::uint16_t* d_x,
                         float* d_weight, Into into, void* workspace) {
  check_conv(shape);
  check(aligned(x, weight, d_y, d_x), "the operands of a convolution are 16-byte aligned");
  const std::int64_t parts = splits(shape.tokens);
  const dim3 grid(static_cast<unsigned>(ceil_div(shape.channels / 2, kThreads)),
                  static_cast<unsigned>(parts));
  auto* partials = static_cast<float*>(workspace);
  pass_back<<<grid, kThreads, 0, stream>>>(shape, x, weight, d_y, ceil_div(shape.tokens, parts),
                                           d_x, partials);
  check_launch("delta_conv_backward");
  sum_partials(stream, partials, parts, shape.channels * kTaps, d_weight, into);
}

Bytes delta_conv_workspace(std::int64_t tokens, std::int64_t channels) {
  return Bytes(splits(tokens) * channels * kTaps * static_cast<std::int64_t>(sizeof(float)));
}

void delta_conv_extend(CUstream_st* stream, const DeltaConvShape& shape, const std::uint16_t* x,
                       const std::uint16_t* weight, float* window, std::uint16_t* y) {
  check_conv(shape);
  check(aligned(x, weight, y), "the operands of a convolution are 16-byte aligned");
  convolve_on<<<static_cast<unsigned>(ceil_div(shape.channels / kVector, kThreads)), kThreads, 0,
                stream>>>(shape, x, weight, window, y);
  check_launch("delta_conv_extend");
}

}  // namespace sluice::engine::cuda
