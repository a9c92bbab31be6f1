// What a rehearsal computes on: values that stay finite and normal however often a step repeats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "planner/layout/host_window.hpp"
#include "planner/models/job.hpp"

namespace sluice::engine {

/// Values by what they are to a processor; zeros and denormals change how fast it works, and how
/// much power a GPU draws.
struct ValueCensus {
  std::int64_t values = 0, nan = 0, infinite = 0, denormal = 0, zero = 0;
  ValueCensus& operator+=(const ValueCensus& other);
};

/// Fills the window's parts, on all cores.
///
/// What h2d copies read is a run of 16-bit halves, each a bf16 of random sign, between 2^-6 and
/// 2^-4 in size, so that it is a small normal number to whoever takes it for bf16, for fp32 or for
/// the two halves of a master; v is positive. Nothing ever writes there.
///
/// The CPU's optimizer has a gradient that stays, of the sign opposite to the weight's, with m
/// equal to it. So every update moves a weight away from zero, by at most the learning rate and a
/// share of weight decay, m goes to the scaled gradient and v to its square along a line: whatever
/// the learning rate and however many tasks share the bytes, nothing crosses zero or leaves the
/// normal numbers.
///
/// In records what bounds the backward pass has the size that it has in training, for it is loaded
/// in place of what forward passes computed: the residual stream is of size 1, so that a norm's
/// gradient does not grow, and log-sum-exps are those of `job.seq_len` equal scores and a little
/// more, so that weights of attention add up to less than one.
void fill_window(const planner::HostWindow& window, const planner::Job& job,
                 std::span<std::byte> host);

/// All that fill_window filled, as whoever reads it takes it.
[[nodiscard]] ValueCensus census_of_window(const planner::HostWindow& window,
                                           std::span<const std::byte> host);
/// Gradients as the last step's stores left them.
[[nodiscard]] ValueCensus census_of_gradients(const planner::HostWindow& window,
                                              std::span<const std::byte> host);

[[nodiscard]] ValueCensus census_of_floats(std::span<const std::byte> values);
[[nodiscard]] ValueCensus census_of_halves(std::span<const std::byte> values);

/// Bytes that read as small normal bf16 or fp32 numbers; the same for the same `first`, a count of
/// 8-byte words, which successive pieces continue.
void fill_small(std::span<std::byte> bytes, std::uint64_t first);

}  // namespace sluice::engine
