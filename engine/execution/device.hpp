// The device that a step graph runs on: two arenas of fixed size and the means to run one bound
// task. Implementations are the `host` backend (engine/host/host_device.hpp) and the `cuda` backend
// (engine/cuda).
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

/// An access of a task with its address in an arena.
struct BoundAccess {
  planner::Role role;
  planner::Mode mode;
  std::byte* data;
  Bytes bytes;
};

/// One task of the step that a program repeats, with the addresses of everything it touches, ready
/// to run.
struct BoundTask {
  planner::TaskKind kind;
  planner::LaneKind lane;
  int unit = 0;
  int round = 0;
  int micro_batch = 0;
  /// Whether a backward task is its unit's first in the step, which overwrites the gradient instead
  /// of adding to it.
  bool first = false;
  /// Bytes moved over a link; zero for compute tasks.
  Bytes bytes{0};
  /// Range of the unit's parameters that an update task updates: index of the first, and number.
  std::int64_t first_parameter = 0, parameters = 0;
  std::vector<BoundAccess> accesses;
  std::optional<Bytes> disk_offset{};  ///< Disk tasks only: offset of the transfer in the file.

  /// The only access with `role`. Throws if there is none or more than one, because that breaks the
  /// step graph's contract.
  [[nodiscard]] const BoundAccess& access(planner::Role role) const;
  /// The first access with `role`, or null if the task has none.
  [[nodiscard]] const BoundAccess* find(planner::Role role) const;
};

/// Sizes of the two arenas of a device.
struct ArenaSizes {
  Bytes device{0};
  Bytes host{0};
};
/// Throws Error(does_not_fit), naming the arena, if an arena of size `needed` is larger than its
/// `capacity`.
void require_room(const ArenaSizes& needed, const ArenaSizes& capacity);

/// Tokens that the next forward pass appends to a sequence whose earlier tokens' keys and values
/// are kept; used by graphs of ForwardGoal::next_token.
struct SequencePart {
  std::int64_t first = 0;  ///< Number of earlier tokens of the sequence.
  std::int64_t count = 0;  ///< Number of tokens in this pass; 0 for a pass that computes nothing.
};

class Program;

/// Speed of host-backend copies that run outside the step graph: at the link's set speed, or as
/// fast as memory allows.
enum class Pace { link, unlimited };

/// A device with its arenas. It is created once with the plan's sizes; nothing is allocated
/// afterwards.
class Device {
 public:
  virtual ~Device() = default;
  Device() = default;
  Device(const Device&) = delete;  // Bound tasks hold addresses inside the arenas.
  Device& operator=(const Device&) = delete;

  /// The bytes of the device's or the host's arena. If the CPU cannot read the device's memory,
  /// `data()` is a device address: use `read` and `write` then.
  [[nodiscard]] virtual std::span<std::byte> arena(planner::Arena arena) = 0;

  /// Prepares the calling thread to run a lane's tasks; call it once per lane before the first
  /// task.
  virtual void enter_lane(planner::LaneKind lane) = 0;

  /// Runs a copy, compute or update task on the calling lane's thread and returns when it has
  /// ended. `update` holds the optimizer's constants of the task's step; only update tasks read it.
  virtual void run(const BoundTask& task, const AdamWStep& update, Pace pace) = 0;
  /// Sets which tokens the following compute tasks process, in graphs of ForwardGoal::next_token.
  /// Call it between the compute tasks of two passes. Throws BadRequest if the backend does not run
  /// such graphs.
  virtual void place(SequencePart part);
  /// Computes the cross-entropy of a loss task's micro-batch, summed over its targets, in nats;
  /// gradients are not touched.
  [[nodiscard]] virtual double loss_only(const BoundTask& task) = 0;

  /// Copies between an arena and ordinary memory at full speed. Call them between steps or inside
  /// the `grads` task.
  virtual void read(const std::byte* source, std::span<std::byte> destination) = 0;
  virtual void write(std::span<const std::byte> source, std::byte* destination) = 0;

  /// Zeroed host memory outside the arenas, fully resident, that `read` can copy into at the
  /// device's full speed. The device must outlive it. Throws EnvironmentError if the system refuses
  /// it.
  [[nodiscard]] virtual std::shared_ptr<std::byte> memory_to_read_into(Bytes bytes);

  /// Zeroes `bytes` bytes of an arena from `destination` on. Call it between steps.
  virtual void clear(std::byte* destination, std::size_t bytes) = 0;

  /// Queues for the lanes that the device runs by itself; null if threads run all lanes. Device and
  /// program must outlive the queues.
  [[nodiscard]] virtual std::unique_ptr<DeviceQueues> open_queues(const Program& /*program*/) {
    return nullptr;
  }
};

}  // namespace sluice::engine
