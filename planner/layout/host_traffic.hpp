// Traffic of one step through each part of a host window (planner/layout/host_window.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "planner/graph/step_graph.hpp"
#include "planner/layout/window_part.hpp"

namespace sluice::planner {

/// The parts of a rehearsal's host window (planner/layout/host_window.hpp) that copies use; the
/// other parts belong to the CPU's optimizer or have addresses of their own.
inline constexpr std::array kWindowCopies = {WindowUse::from_disk,     WindowUse::to_disk,
                                             WindowUse::loaded,        WindowUse::loaded_moment2,
                                             WindowUse::loaded_record, WindowUse::stored};

/// Bytes that the tasks of one step read and write in the host arena, by part of a rehearsal's host
/// window (planner/layout/window_part.hpp).
class HostTraffic {
 public:
  /// Counts the accesses of one step of `graph`, which must outlive this object.
  explicit HostTraffic(const StepGraph& graph);

  [[nodiscard]] const StepTask& task(std::size_t index) const {
    return graph_.tasks[graph_.tasks_per_step + index];
  }
  [[nodiscard]] bool on_host(const Access& access) const {
    return graph_.tensors[static_cast<std::size_t>(access.tensor)].arena == Arena::host;
  }
  /// The part of the host window that `access` of `task` goes through; none where the tensor has an
  /// address of its own in the window.
  [[nodiscard]] std::optional<WindowUse> use_of(const StepTask& task, const Access& access) const;
  [[nodiscard]] Bytes home(const Access& access) const {
    return homes_.at(static_cast<std::size_t>(access.tensor)) + access.offset;
  }

  [[nodiscard]] Bytes shared_bytes() const { return shared_bytes_; }
  [[nodiscard]] Bytes record_bytes() const { return record_bytes_; }
  /// Size of the part `use`, one of kWindowCopies, that holds the share `share` (0 to 1) of a
  /// step's traffic through it, and at least its largest access.
  [[nodiscard]] Bytes copies(WindowUse use, double share) const;
  /// Number of elements in each of the parts for the CPU optimizer's operands that hold the share
  /// `share` (0 to 1) of a step's updates, and at least the largest update.
  [[nodiscard]] std::int64_t elements(double share) const;
  /// Bytes that `access`, one of a copy, takes in the part of the host window that it goes through:
  /// its bytes, rounded up to the arena's alignment.
  [[nodiscard]] static Bytes size_of(const Access& access);
  [[nodiscard]] static std::int64_t elements_of(const Access& high);
  [[nodiscard]] std::int64_t gradient_element() const { return gradient_element_; }
  [[nodiscard]] std::int64_t element_bytes() const { return 2 + 2 + 4 + 4 + gradient_element_; }

  /// Size of a window in which every part holds the share `share` (0 to 1) of a step's traffic
  /// through it.
  [[nodiscard]] Bytes bytes(double share) const;
  /// `bytes`, rounded up to the disk's alignment if the window has a part for disk writes: a
  /// backend may place an arena against the window's end, and that part needs the alignment.
  [[nodiscard]] Bytes whole(Bytes bytes) const;

 private:
  /// Sizes of the accesses of one step that go through one part of the host window: the largest,
  /// and the sum of all. Bytes in parts for copies; elements in those for the optimizer's operands,
  /// which share one Passing.
  struct Passing {
    std::int64_t largest = 0, all = 0;
    void add(std::int64_t size) {
      largest = std::max(largest, size);
      all += size;
    }
    /// Size of a part that holds the share `share` of the traffic, rounded down to a multiple of
    /// `unit`, but at least the largest access.
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
