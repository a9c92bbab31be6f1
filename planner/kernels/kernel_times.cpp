#include "planner/kernels/kernel_times.hpp"

#include <mutex>

namespace sluice::planner {

double KernelTimes::of(KernelKind kind, const KernelShape& shape,
                       const std::function<double()>& compute) const {
  const Key key{kind, shape};
  {
    const std::shared_lock lock(mutex_);
    const auto found = kept_.find(key);
    if (found != kept_.end()) return found->second;
  }
  const double seconds = compute();
  const std::unique_lock lock(mutex_);
  if (kept_.size() >= kMost) kept_.clear();
  kept_.emplace(key, seconds);
  return seconds;
}

}  // namespace sluice::planner
