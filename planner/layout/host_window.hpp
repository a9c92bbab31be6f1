// Host addresses of a rehearsal, in which a step's tasks use a window that is smaller than the host
// arena.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/graph/step_graph.hpp"
#include "planner/layout/window_part.hpp"

namespace sluice::planner {

class HostTraffic;

/// Host addresses of a step's tasks in a window smaller than the host arena. Each lane has parts of
/// its own, in which the bytes that its tasks touch follow each other in lane order, modulo the
/// part's size. A lane runs one task at a time and a part holds the largest, so accesses in flight
/// never share bytes (find_window_fault). A task never reads what another lane wrote: values are
/// those that the window was filled with. The optimizer's operands advance together, element by
/// element, so a byte is only ever one operand of one parameter.
class HostWindow {
 public:
  /// Bytes of the smallest window for `graph`, in which every part holds just the largest access
  /// that goes through it.
  [[nodiscard]] static Bytes least(const StepGraph& graph);
  /// Makes a window of at most `most` bytes, and no larger than is needed for no part to be used
  /// twice within a step. Requires least(graph) <= most, and host tensors that only copies, the
  /// CPU's optimizer, launch and compute tasks touch.
  HostWindow(const StepGraph& graph, Bytes most);

  [[nodiscard]] Bytes bytes() const { return bytes_; }
  /// Offset in the window of access number `access` of task number `task` of a step; the access
  /// must be one of the host arena.
  [[nodiscard]] Bytes offset(std::size_t task, std::size_t access) const {
    return offsets_[task][access];
  }
  /// Parts of the window in the order of their addresses, empty ones too. No bytes lie between
  /// them; some may lie behind the last.
  [[nodiscard]] const std::vector<WindowPart>& parts() const { return parts_; }
  [[nodiscard]] const WindowPart& part(WindowUse use) const {
    return parts_[static_cast<std::size_t>(use)];
  }
  /// Bytes from the start of one record to the start of the next in the part for records that are
  /// loaded; a kept prefix of a record is shorter. Zero where no record is loaded.
  [[nodiscard]] Bytes record_bytes() const { return record_bytes_; }
  /// The type in which the CPU's optimizer reads gradients.
  [[nodiscard]] GradientWire gradient() const { return gradient_; }
  /// Gradients whose copies from the device are still in the window at the end of a step, because
  /// no later copy of the step overwrites them.
  [[nodiscard]] const std::vector<StoredGradient>& stored_gradients() const {
    return stored_gradients_;
  }

 private:
  void place_parts(const HostTraffic& traffic, double share);
  /// Gives every access an offset; `elements` is the number of elements in each part for the CPU
  /// optimizer's operands.
  void place_accesses(const HostTraffic& traffic, std::int64_t elements);
  void find_stored_gradients(const StepGraph& graph);

  Bytes bytes_{0};
  Bytes record_bytes_{0};
  GradientWire gradient_ = GradientWire::fp32;
  std::vector<WindowPart> parts_;
  std::vector<std::vector<Bytes>> offsets_;
  std::vector<StoredGradient> stored_gradients_;
};

/// The first fault of `window` for `graph`; none where it is right. Faults: accesses of one task,
/// or of two tasks of different lanes of which neither waits for the other, that share bytes of the
/// window; and an access outside it. Tensors with addresses of their own may share bytes as the
/// layout shares them.
[[nodiscard]] std::optional<std::string> find_window_fault(const StepGraph& graph,
                                                           const HostWindow& window);

}  // namespace sluice::planner
