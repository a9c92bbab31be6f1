// Values of stored moments: their fp32 from halves or codes and scales, and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/model_files/state_source.hpp"
#include "engine/state/plane.hpp"
#include "planner/models/job.hpp"

namespace sluice::engine {

/// Reads or writes bytes of one of a unit's planes from byte `at` on.
using ReadBytes = std::function<void(Plane plane, std::int64_t at, std::span<std::byte> bytes)>;
using WriteBytes =
    std::function<void(Plane plane, std::int64_t at, std::span<const std::byte> bytes)>;

/// Values of elements `first` to first + out.size() - 1 of m or v (`part`), whose planes `read`
/// reads.
void read_moments(planner::StateType type, StatePart part, std::int64_t first, std::span<float> out,
                  const ReadBytes& read);

/// Stores values of m or v from element `first` on, each as the nearest that the type has, ties to
/// even in bf16. In int8, `first` is a multiple of kMomentBlock, and a last block that is not whole
/// ends with the unit. Values that read_moments gave are stored as they were.
void write_moments(planner::StateType type, StatePart part, std::int64_t first,
                   std::span<const float> values, const WriteBytes& write);

}  // namespace sluice::engine
