// The planes of a unit's state, and the sizes of their numbers.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "engine/optimizer/moment_layout.hpp"
#include "planner/models/job.hpp"

namespace sluice::engine {

/// The planes of a unit's state: high and low halves of master weights (uint16 each), moments m and
/// v (fp32, bf16, or codes of 8 bits) and, where those are codes, their scales (fp32).
enum class Plane { high, low, m, v, m_scales, v_scales };

inline constexpr std::array kPlanes = {Plane::high, Plane::low,      Plane::m,
                                       Plane::v,    Plane::m_scales, Plane::v_scales};
inline constexpr std::array kWeightPlanes = {Plane::high, Plane::low};
inline constexpr std::array kMomentPlanes = {Plane::m, Plane::v, Plane::m_scales, Plane::v_scales};

/// The planes of a state of this type.
[[nodiscard]] constexpr std::span<const Plane> planes_of(planner::StateType type) {
  return std::span(kPlanes).first(type == planner::StateType::int8 ? 6 : 4);
}
/// The planes of the moments of a state of this type.
[[nodiscard]] constexpr std::span<const Plane> moment_planes_of(planner::StateType type) {
  return std::span(kMomentPlanes).first(type == planner::StateType::int8 ? 4 : 2);
}

[[nodiscard]] constexpr bool is_scales(Plane plane) {
  return plane == Plane::m_scales || plane == Plane::v_scales;
}

/// Size of the numbers of a plane in a state of this type.
[[nodiscard]] constexpr PlaneSize plane_size(Plane plane, planner::StateType type) {
  if (plane == Plane::high || plane == Plane::low) return {2, 1};
  return is_scales(plane) ? kMomentScaleSize : moment_code_size(type);
}

}  // namespace sluice::engine
