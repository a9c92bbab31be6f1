// Traffic of one step through each part of a host window.
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

/// The parts of a window that copies use.
inline constexpr std::array kWindowCopies = {WindowUse::from_disk,     WindowUse::to_disk,
                                             WindowUse::loaded,        WindowUse::loaded_moment2,
                                             WindowUse::loaded_record, WindowUse::stored};

/// Use of the host arena by one step's tasks.
class HostTraffic {
 public:
  /// Counts the traffic of `graph`, which must outlive this object.
  explicit HostTraffic(const StepGraph& graph);

  [[nodiscard]] const StepTask& task(std::size_t index) const {
    return graph_.tasks[graph_.tasks_per_step + index];
  }
  [[nodiscard]] bool on_host(const Access& access) const {
    return graph_.tensors[static_cast<std::size_t>(access.tensor)].arena == Arena::host;
  }
  /// The part of the window that `access` of `task` goes through; none where the tensor has an
  /// address of its own.
  [[nodiscard]] std::optional<WindowUse> use_of(const StepTask& task, const Access& access) const;
  [[nodiscard]] Bytes home(const Access& access) const {
    return homes_.at(static_cast<std::size_t>(access.tensor)) + access.offset;
  }

  [[nodiscard]] Bytes shared_bytes() const { return shared_bytes_; }
  [[nodiscard]] Bytes record_bytes() const { return record_bytes_; }
  /// Bytes of the copies' part `use` that holds `share` of a step's traffic through it, at least
  /// its largest access.
  [[nodiscard]] Bytes copies(WindowUse use, double share) const;
  /// Number of elements in each part of the CPU optimizer that hold `share` of a step's traffic, at
  /// least those of its largest update.
  [[nodiscard]] std::int64_t elements(double share) const;
  /// Bytes that one access takes of a part for copies, aligned.
  [[nodiscard]] static Bytes size_of(const Access& access);
  [[nodiscard]] static std::int64_t elements_of(const Access& high);
  [[nodiscard]] std::int64_t gradient_element() const { return gradient_element_; }
  [[nodiscard]] std::int64_t element_bytes() const { return 2 + 2 + 4 + 4 + gradient_element_; }

  /// Bytes of a window in which every part holds `share` of a step's traffic through it.
  [[nodiscard]] Bytes bytes(double share) const;
  /// Rounds a window's size up where it has a part for disk writes: a backend may place an arena
  /// against its end, and that part needs the disk's alignment.
  [[nodiscard]] Bytes whole(Bytes bytes) const;

 private:
  /// Traffic of a step through one part: its largest access and the sum of all.
  struct Passing {
    std::int64_t largest = 0, all = 0;
    void add(std::int64_t size) {
      largest = std::max(largest, size);
      all += size;
    }
    /// Size of a part that holds `share` of the traffic, in multiples of `unit`, at least its
    /// largest access.
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
