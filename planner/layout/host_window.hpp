// The host memory of a rehearsal: host addresses of a step's tasks modulo a window that holds what
// is in flight at any moment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/graph/step_graph.hpp"

namespace sluice::planner {

/// What a part of the window is to the tasks that use it. Those of the disk come first, for their
/// transfers need addresses that are multiples of kDiskAlign.
enum class WindowUse : std::uint8_t {
  from_disk,       ///< Written by reads of the disk.
  to_disk,         ///< Read by writes to the disk.
  shared,          ///< Tensors that compute or launch tasks touch: addresses of their own.
  loaded,          ///< Read by h2d copies: weights, gradients, m, low halves.
  loaded_moment2,  ///< Read by h2d copies: v, which has a square root taken of it.
  loaded_record,   ///< Read by h2d copies: activation records, whole ones behind one another.
  stored,          ///< Written by d2h copies.
  high,            ///< Operands of the CPU's optimizer, element by element side by side.
  low,
  moment1,
  moment2,
  gradient,
};
inline constexpr std::size_t kWindowUses = 12;

struct WindowPart {
  WindowUse use;
  Bytes offset{0}, bytes{0};
};

/// A gradient as a step's stores leave it in the window.
struct StoredGradient {
  Bytes offset{0}, bytes{0};
  GradientWire element = GradientWire::fp32;
};

class HostTraffic;

/// Where each task of a step finds its host bytes in a window smaller than the host arena. Lanes
/// have parts of their own: what a lane's tasks touch, laid end to end in lane order, lies there
/// modulo the part's size. A lane runs one task at a time and a part holds the largest, so that no
/// two accesses ever in flight share bytes (find_window_fault); and for the same reason a task
/// never reads what another lane wrote: values are those the window was filled with. The
/// optimizer's operands rotate together, element by element, so each is only ever one operand of
/// one parameter.
class HostWindow {
 public:
  /// The smallest window of `graph`: what is in flight when every lane is at its largest task.
  [[nodiscard]] static Bytes least(const StepGraph& graph);
  /// A window of at most `most` bytes, no larger than it takes for no part to be used twice within
  /// a step. Requires least(graph) <= most, and host tensors that only copies, the CPU's optimizer,
  /// launch and compute tasks touch.
  HostWindow(const StepGraph& graph, Bytes most);

  [[nodiscard]] Bytes bytes() const { return bytes_; }
  /// Of access `access` of the step's task `task`, which is one of the host arena.
  [[nodiscard]] Bytes offset(std::size_t task, std::size_t access) const {
    return offsets_[task][access];
  }
  /// In the order of addresses, without gaps but behind the last; empty parts too.
  [[nodiscard]] const std::vector<WindowPart>& parts() const { return parts_; }
  [[nodiscard]] const WindowPart& part(WindowUse use) const {
    return parts_[static_cast<std::size_t>(use)];
  }
  /// Of one record in its part, each of which begins at a multiple of it; a kept prefix of a record
  /// is shorter. Zero where no record is loaded.
  [[nodiscard]] Bytes record_bytes() const { return record_bytes_; }
  /// What the CPU's optimizer reads gradients as.
  [[nodiscard]] GradientWire gradient() const { return gradient_; }
  /// Gradients that no later store of the step overwrites.
  [[nodiscard]] const std::vector<StoredGradient>& stored_gradients() const {
    return stored_gradients_;
  }

 private:
  void place_parts(const HostTraffic& traffic, double share);
  /// `elements`: in each part of the CPU's optimizer.
  void place_accesses(const HostTraffic& traffic, std::int64_t elements);
  void find_stored_gradients(const StepGraph& graph);

  Bytes bytes_{0};
  Bytes record_bytes_{0};
  GradientWire gradient_ = GradientWire::fp32;
  std::vector<WindowPart> parts_;
  std::vector<std::vector<Bytes>> offsets_;
  std::vector<StoredGradient> stored_gradients_;
};

/// Why `window` is wrong for `graph`, or nothing: accesses of one task, or of two tasks of
/// different lanes of which neither waits for the other, that share bytes of the window; an access
/// outside it. Tensors that keep addresses of their own may be shared as the layout shares them.
[[nodiscard]] std::optional<std::string> find_window_fault(const StepGraph& graph,
                                                           const HostWindow& window);

}  // namespace sluice::planner
