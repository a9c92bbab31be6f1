// Work of passes whose operators are kernels of their own, as PyTorch runs layers eagerly.
#pragma once

#include <cstdint>

#include "planner/costs/cost.hpp"

namespace sluice::planner {

/// Work of `pass` with eager operators: the products and the attention of the fused pass, and the
/// traffic and kernels of one kernel for every other operator. Passes that rebuild a record run the
/// whole forward pass again, and no MLP is computed in chunks. Meaning of `unit` and `position` as
/// in work_of().
[[nodiscard]] Work eager_work(const Job& job, Pass pass, std::size_t unit, std::int64_t position);

/// Launches of the profile (about 4 us each, from C++) that one eager operator takes of the launch
/// lane: 10 us in Python, autograd and the dispatcher. Source: see planner/costs/eager_work.cpp.
inline constexpr double kLaunchesOfEagerOperator = 2.5;

}  // namespace sluice::planner
