// The device a step graph runs on: two arenas of fixed size and the means to run one bound task.
// Backends: `host` (engine/host/host_device.hpp); `cuda` follows the same face.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/execution/device_queues.hpp"
#include "engine/optimizer/adamw.hpp"
#include "planner/graph/step_graph.hpp"
#include "sim/units.hpp"

namespace sluice::engine {

/// A byte range of an arena with its address: what an access becomes once the arenas exist.
struct BoundAccess {
  planner::Role role;
  planner::Mode mode;
  std::byte* data;
  Bytes bytes;
};

/// One task of the step template, ready to run: everything it touches has an address.
struct BoundTask {
  planner::TaskKind kind;
  planner::LaneKind lane;
  int unit = 0;
  int round = 0;
  int micro_batch = 0;
  bool first = false;                                ///< The gradient is overwritten, not added to.
  Bytes bytes{0};                                    ///< Moved over a link; zero for compute.
  std::int64_t first_parameter = 0, parameters = 0;  ///< Of the unit: what an update updates.
  std::vector<BoundAccess> accesses;
  std::optional<Bytes> disk_offset{};  ///< Of a disk task: the file's end of its transfer.

  /// The only access of `role`; a missing or second one breaks the step graph's contract.
  [[nodiscard]] const BoundAccess& access(planner::Role role) const;
  /// The first access of `role`, or null where the task has none.
  [[nodiscard]] const BoundAccess* find(planner::Role role) const;
};

/// Sizes of the two arenas; an arena larger than its capacity is refused.
struct ArenaSizes {
  Bytes device{0};
  Bytes host{0};
};
/// Throws Error(does_not_fit) naming the arena that is larger than `capacity`.
void require_room(const ArenaSizes& needed, const ArenaSizes& capacity);

/// Tokens of a sequence that one pass of a graph of ForwardGoal::next_token continues it by.
struct SequencePart {
  std::int64_t first = 0;  ///< Tokens before them, whose keys and values are kept.
  std::int64_t count = 0;  ///< 0: a pass that computes nothing.
};

class Program;

/// How copies are run outside the step graph: at the link's set speed, or as fast as memory allows.
enum class Pace { link, unlimited };

/// A device with its arenas. Created once at plan sizes; nothing is allocated afterwards.
class Device {
 public:
  virtual ~Device() = default;
  Device() = default;
  Device(const Device&) = delete;  // Bound tasks hold addresses inside the arenas.
  Device& operator=(const Device&) = delete;

  /// The bytes of the device's or the host's arena. For a backend whose device memory the CPU
  /// cannot read, `data()` is a device address; go through `read` and `write`.
  [[nodiscard]] virtual std::span<std::byte> arena(planner::Arena arena) = 0;

  /// Called once on each lane's thread before its first task.
  virtual void enter_lane(planner::LaneKind lane) = 0;

  /// Runs a copy, compute or update task on the calling lane's thread; returns when it has ended.
  /// `update` holds the optimizer's constants of the task's step; only update tasks read it.
  virtual void run(const BoundTask& task, const AdamWStep& update, Pace pace) = 0;
  /// What the following compute tasks are of, in graphs of ForwardGoal::next_token: called between
  /// two passes' compute tasks. Throws BadRequest where the backend does not run such graphs.
  virtual void place(SequencePart part);
  /// The summed cross-entropy of a `loss` task's micro-batch, without touching any gradient.
  [[nodiscard]] virtual double loss_only(const BoundTask& task) = 0;

  /// Copies between an arena and ordinary memory, unpaced, between steps (or inside `grads`).
  virtual void read(const std::byte* source, std::span<std::byte> destination) = 0;
  virtual void write(std::span<const std::byte> source, std::byte* destination) = 0;

  /// Zeroed host memory outside the arenas, all of it present, that `read` copies into as fast as
  /// the device can; must not outlive the device. Throws EnvironmentError where the system refuses
  /// it.
  [[nodiscard]] virtual std::shared_ptr<std::byte> memory_to_read_into(Bytes bytes);

  /// Zeroes bytes of an arena, between steps.
  virtual void clear(std::byte* destination, std::size_t bytes) = 0;

  /// Queues for the lanes that the device runs by itself; null where threads run all of them.
  /// Device and program must outlive them.
  [[nodiscard]] virtual std::unique_ptr<DeviceQueues> open_queues(const Program& /*program*/) {
    return nullptr;
  }
};

}  // namespace sluice::engine
