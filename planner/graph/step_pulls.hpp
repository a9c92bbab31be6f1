// What ranks that pull weights from shared memory need beside them (planner/graph/step_pulls.cpp).
#pragma once

#include <cstdint>

#include "planner/models/job.hpp"
#include "planner/plans/plan.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Bytes that each rank brings to a barrier.
inline constexpr Bytes kArrival{16};
/// Most buffers for slices of other hosts: one is sent while another is filled or emptied.
inline constexpr std::int64_t kShareBuffers = 2;

/// Bytes of a buffer for the slices of all hosts, where the largest has so many parameters.
[[nodiscard]] inline Bytes share_buffer_bytes(const Job& job, const Plan& plan,
                                              std::int64_t slice) {
  return job.weight_element() * (slice * plan.hosts);
}

/// Device bytes of all such buffers and of what barriers gather, at most.
[[nodiscard]] inline Bytes share_bytes(const Job& job, const Plan& plan, std::int64_t slice) {
  const Bytes buffers = share_buffer_bytes(job, plan, slice) * kShareBuffers;
  return kArrival * plan.ranks + (plan.hosts == 1 ? Bytes(0) : buffers);
}

}  // namespace sluice::planner
