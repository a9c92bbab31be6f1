// What of a step's host memory passes through each part of a window.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "planner/graph/step_graph.hpp"
#include "planner/layout/host_window.hpp"

namespace sluice::planner {

/// Parts of copies.
inline constexpr std::array kWindowCopies = {WindowUse::from_disk,     WindowUse::to_disk,
                                             WindowUse::loaded,        WindowUse::loaded_moment2,
                                             WindowUse::loaded_record, WindowUse::stored};

/// One step's use of the host arena.
class HostTraffic {
 public:
  /// `graph` must outlive it.
  explicit HostTraffic(const StepGraph& graph);

  [[nodiscard]] const StepTask& task(std::size_t index) const {
    return graph_.tasks[graph_.tasks_per_step + index];
  }
  [[nodiscard]] bool on_host(const Access& access) const {
    return graph_.tensors[static_cast<std::size_t>(access.tensor)].arena == Arena::host;
  }
  /// None where the tensor keeps an address of its own.
  [[nodiscard]] std::optional<WindowUse> use_of(const StepTask& task, const Access& access) const;
  [[nodiscard]] Bytes home(const Access& access) const {
    return homes_.at(static_cast<std::size_t>(access.tensor)) + access.offset;
  }

  [[nodiscard]] Bytes shared_bytes() const { return shared_bytes_; }
  [[nodiscard]] Bytes record_bytes() const { return record_bytes_; }
  /// Bytes of a part of copies that holds `share` of what passes through it.
  [[nodiscard]] Bytes copies(WindowUse use, double share) const;
  /// Elements in a part of the CPU's optimizer that holds `share` of those that pass it.
  [[nodiscard]] std::int64_t elements(double share) const;
  /// What one access takes of a part of copies, and of those of the CPU's optimizer.
  [[nodiscard]] static Bytes size_of(const Access& access);
  [[nodiscard]] static std::int64_t elements_of(const Access& high);
  [[nodiscard]] std::int64_t gradient_element() const { return gradient_element_; }
  [[nodiscard]] std::int64_t element_bytes() const { return 2 + 2 + 4 + 4 + gradient_element_; }

  /// Of a window in which every part holds `share` of what passes through it in a step.
  [[nodiscard]] Bytes bytes(double share) const;
  /// A backend may place an arena against its end, and the disk's part needs its alignment.
  [[nodiscard]] Bytes whole(Bytes bytes) const;

 private:
  /// What passes through one part in a step, and its largest task.
  struct Passing {
    std::int64_t largest = 0, all = 0;
    void add(std::int64_t size) {
      largest = std::max(largest, size);
      all += size;
    }
    /// Of a part that holds `share` of what passes: at least the largest.
    [[nodiscard]] std::int64_t size(double share, std::int64_t unit) const {
      const auto wanted = static_cast<std::int64_t>(static_cast<double>(all) * share);
      return std::clamp(wanted / unit * unit, largest, all);
    }
  };
  void count(const StepTask& task);

  const StepGraph& graph_;
  std::vector<bool> shared_;
  std::map<std::size_t, Bytes> homes_;
  Bytes shared_bytes_{0}, record_bytes_{0};
  std::array<Passing, kWindowUses> copies_;
  Passing elements_;
  std::int64_t gradient_element_ = 4;
};

}  // namespace sluice::planner
