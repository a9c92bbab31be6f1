// Values that a rehearsal computes on. They stay finite and normal however often a step is
// repeated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "planner/layout/host_window.hpp"
#include "planner/models/job.hpp"

namespace sluice::engine {

/// Numbers of values by floating-point class. Zeros and denormals are counted because they change
/// how fast a processor works and how much power a GPU draws.
struct ValueCensus {
  std::int64_t values = 0, nan = 0, infinite = 0, denormal = 0, zero = 0;
  ValueCensus& operator+=(const ValueCensus& other);
};

/// Fills the window's parts, on all cores.
///
/// The part that h2d copies read is filled with 16-bit halves that are bf16 numbers of random sign
/// and a size between 2^-6 and 2^-4, so that they are small normal numbers when read as bf16, as
/// fp32 or as the two halves of a master weight; v is positive. Nothing ever writes to this part.
///
/// The gradient of the CPU's optimizer is constant, with the sign opposite to the weight's, and m
/// equals it. Every update therefore moves a weight away from zero, by at most the learning rate
/// and a share of weight decay; m approaches the scaled gradient and v its square monotonically.
/// Whatever the learning rate and however many tasks share the bytes, no value crosses zero or
/// leaves the normal numbers.
///
/// In records, the values that bound the backward pass have the size that they have in training,
/// because they replace what forward passes computed: the residual stream has size 1, so that a
/// norm's gradient does not grow, and log-sum-exps are slightly above those of `job.seq_len` equal
/// scores, so that attention weights add up to less than one.
void fill_window(const planner::HostWindow& window, const planner::Job& job,
                 std::span<std::byte> host);

/// Counts all values that fill_window wrote, each read in the type that its reader uses.
[[nodiscard]] ValueCensus census_of_window(const planner::HostWindow& window,
                                           std::span<const std::byte> host);
/// Counts, by floating-point class, the gradients that the last step stored in the window.
[[nodiscard]] ValueCensus census_of_gradients(const planner::HostWindow& window,
                                              std::span<const std::byte> host);

[[nodiscard]] ValueCensus census_of_floats(std::span<const std::byte> values);
[[nodiscard]] ValueCensus census_of_halves(std::span<const std::byte> values);

/// Fills `bytes` with values that read as small normal bf16 or fp32 numbers. A value depends only
/// on the number of its 8-byte word, counted from `first` at the beginning of `bytes`, so that
/// successive pieces can continue each other.
void fill_small(std::span<std::byte> bytes, std::uint64_t first);

}  // namespace sluice::engine
