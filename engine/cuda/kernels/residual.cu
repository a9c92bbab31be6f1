#include "engine/cuda/kernels/residual.hpp"
#include "engine/cuda/kernels/vector.cuh"
#include "sim/error.hpp"

namespace sluice::engine::cuda {
namespace {

constexpr int kThreads = 256;

/// One thread for eight elements; `base` may be null for zeros.
__global__ void __launch_bounds__(kThreads)
    add_scaled(const std::uint16_t* base, const std::uint16_t* addend, float factor,
               std::int64_t vectors, std::uint16_t* out) {
  const std::int64_t v = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (v >= vectors) return;
  Eight sum = Eight::unpack(load(addend, v * kVector));
  Eight start{};
  if (base != nullptr) start = Eight::unpack(load(base, v * kVector));
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    sum.value[i] = __fadd_rn(start.value[i], __fmul_rn(factor, sum.value[i]));
  }
  store(out, v * kVector, sum.packed());
}

void launch(CUstream_st* stream, const std::uint16_t* base, const std::uint16_t* addend,
            float factor, std::int64_t elements, std::uint16_t* out, const char* name) {
  check(elements > 0 && elements % kVector == 0, "a multiple of 8 elements");
  check(aligned(base, addend, out), "rows are 16-byte aligned");
  const std::int64_t vectors = elements / kVector;
  add_scaled<<<static_cast<unsigned>(ceil_div(vectors, kThreads)), kThreads, 0, stream>>>(
      base, addend, factor, vectors, out);
  check_launch(name);
}

}  // namespace

void join(CUstream_st* stream, const std::uint16_t* base, const std::uint16_t* addend, float factor,
          std::int64_t elements, std::uint16_t* out) {
  check(base != nullptr, "a sum has two operands");
  launch(stream, base, addend, factor, elements, out, "join");
}

void scale(CUstream_st* stream, const std::uint16_t* in, float factor, std::int64_t elements,
           std::uint16_t* out) {
  launch(stream, nullptr, in, factor, elements, out, "scale");
}

}  // namespace sluice::engine::cuda
