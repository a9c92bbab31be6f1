// Kernels of the experiment. All run on the given stream; arrays must live until it has come to
// them.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "board.hpp"

namespace sluice::several_gpus {

/// Elements whose squares are summed into one number.
constexpr std::size_t kBlock = 4096;

/// Partial gradients of one slice, [elements] fp32 each, in the order of their groups.
using Slices = std::array<const float*, kMostRanks>;

/// sum = fold(slices[0..count)), split at the largest power of two below the count, left operand
/// first; squares[i] = the sum of squares of the sum's elements [4096 i, 4096 i + 4096), in fp64.
/// `count` is 2, 4 or 8; elements are whole blocks; all addresses are multiples of 16. With `bf16`
/// the sum is stored rounded to bf16.
void ordered_sum(const Slices& slices, int count, std::size_t elements, bool bf16, void* sum,
                 double* squares, cudaStream_t stream);
/// Fills with numbers of all signs and some thirty binary orders of magnitude, a function of seed
/// and index.
void fill_random(float* out, std::size_t elements, std::uint64_t seed, cudaStream_t stream);
/// Fills with bf16 numbers in [-1, 1), for products.
void fill_random_bf16(void* out, std::size_t elements, cudaStream_t stream);
/// Adds to *digest a number that depends on every bit and every index (first + i) of [words] 32-bit
/// words, in any order.
void digest(const void* words, std::size_t count, std::uint64_t first, std::uint64_t* digest,
            cudaStream_t stream);
/// Occupies every thread slot of every multiprocessor for the given time.
void fill_multiprocessors(double seconds, int multiprocessors, cudaStream_t stream);

}  // namespace sluice::several_gpus
