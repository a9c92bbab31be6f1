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
#include "engine/ranks/members.hpp"
#include "engine/ranks/rank_links.hpp"
#include "engine/ranks/shared_arena.hpp"
#include "planner/graph/step_graph.hpp"
#include "sim/units.hpp"

namespace sluice::engine {

/// A range of bytes in an arena that a task reads or writes, with the part that it plays (Role,
/// such as source, weights, gradient) and whether it is read, written or both (Mode).
struct BoundAccess {
  planner::Role role;
  planner::Mode mode;
  std::byte* data;
  Bytes bytes;
  /// Bytes from here to where the following rank accesses the same range; zero if all ranks access
  /// it at the same place.
  Bytes rank_stride{0};
  planner::Among among = planner::Among::all;  ///< As Access::among.
};

/// One task of the step that a program repeats, with the addresses of everything it touches, ready
/// to run in any step.
struct BoundTask {
  planner::TaskKind kind;
  planner::LaneKind lane;
  int unit = 0;
  int round = 0;
  /// Number of the micro-batch among those of this rank.
  int micro_batch = 0;
  int rank = 0;   ///< Rank that runs the task.
  int ranks = 1;  ///< Number of ranks that run the task at the same time.
  /// Ranks among which an exchange is, or whose sums are added.
  Members members{};
  /// Whether this backward task is the first of its unit in a group of micro-batches: it overwrites
  /// the group's gradient, and later ones add to it.
  bool first = false;
  /// Number of bytes that a copy moves; zero for compute tasks.
  Bytes bytes{0};
  /// Range of the unit's parameters that an update task updates: index of the first within the
  /// unit's vector, and their number.
  std::int64_t first_parameter = 0, parameters = 0;
  std::vector<BoundAccess> accesses;
  /// Disk tasks only: byte of the run's disk file at which the transfer begins.
  std::optional<Bytes> disk_offset{};

  /// The first access with `role`. Throws std::logic_error if the task has none, because that
  /// breaks the step graph's contract.
  [[nodiscard]] const BoundAccess& access(planner::Role role) const;
  /// The first access with `role`, or null if the task has none.
  [[nodiscard]] const BoundAccess* find(planner::Role role) const;
};

/// Sizes of a device's two arenas: `device` in the memory of the GPU, or what stands for it, and
/// `host`.
struct ArenaSizes {
  Bytes device{0};
  Bytes host{0};
};
/// Throws Error(does_not_fit), naming the arena, if an arena that a plan needs is larger than its
/// capacity.
void require_room(const ArenaSizes& needed, const ArenaSizes& capacity);

/// Range of a sequence's tokens that the next forward pass computes; the keys and values of the
/// tokens before it are kept. Used by graphs of ForwardGoal::next_token.
struct SequencePart {
  /// Number of the sequence's tokens before this pass, whose keys and values are kept; also the
  /// position of the pass's first token.
  std::int64_t first = 0;
  std::int64_t count = 0;  ///< Number of tokens of this pass; 0 for a pass that computes nothing.
};

class Program;

/// Speed of copies of the host backend, whose links are imitated: `link`, the speed that the
/// machine profile sets, or `unlimited`, as fast as memory allows. Other backends ignore it.
enum class Pace { link, unlimited };

/// What executes tasks: a GPU, or a part of host memory that stands for one, with a device arena
/// and a host arena of the plan's sizes. It is created once; nothing is allocated afterwards.
class Device {
 public:
  virtual ~Device() = default;
  Device() = default;
  Device(const Device&) = delete;  // Bound tasks hold addresses inside the arenas.
  Device& operator=(const Device&) = delete;

  /// All bytes of the device arena, of the host arena or of the shared one. If the CPU cannot read
  /// the device's memory, `data()` is a device address: use `read` and `write` then.
  [[nodiscard]] virtual std::span<std::byte> arena(planner::Arena arena) = 0;

  /// Prepares the calling thread to run the tasks of `lane`; call it once on each lane's thread
  /// before the lane's first task.
  virtual void enter_lane(planner::LaneKind lane) = 0;

  /// Runs a copy, compute or update task on the calling thread, which is its lane's, and returns
  /// when it has ended. `update` holds the optimizer's constants of the step (learning rate,
  /// corrections); only update tasks read it.
  virtual void run(const BoundTask& task, const AdamWStep& update, Pace pace) = 0;
  /// Sets which tokens of the sequence the following compute tasks process, in graphs of
  /// ForwardGoal::next_token. Call it between the compute tasks of two passes. Throws BadRequest if
  /// the backend does not run such graphs.
  virtual void place(SequencePart part);
  /// Computes the cross-entropy that the loss task `task` would compute, summed over the targets of
  /// its micro-batch, in nats, without its gradients: nothing else is written.
  [[nodiscard]] virtual double loss_only(const BoundTask& task) = 0;

  /// Copy between an arena and ordinary memory at full speed: `read` from the arena, `write` into
  /// it. Call them between steps or inside the `grads` task.
  virtual void read(const std::byte* source, std::span<std::byte> destination) = 0;
  virtual void write(std::span<const std::byte> source, std::byte* destination) = 0;

  /// Zeroed host memory of `bytes` bytes outside the arenas, fully resident, that `read` can copy
  /// into at the device's full speed. The device must outlive it. Throws EnvironmentError if the
  /// system refuses it.
  [[nodiscard]] virtual std::shared_ptr<std::byte> memory_to_read_into(Bytes bytes);

  /// Zeroes `bytes` bytes of an arena from `destination` on. Call it between steps.
  virtual void clear(std::byte* destination, std::size_t bytes) = 0;

  /// Tells the device how its rank reaches the others. Call it once, before tasks run and queues
  /// are opened; what `links` name must outlive the device.
  virtual void join(const RankLinks& /*links*/) {}
  /// Gives the device the memory that it shares with the other ranks of its host, from which and to
  /// which it then copies. Call it once, before tasks are bound; the device keeps the memory.
  /// Throws BadRequest if the backend has no such memory.
  virtual void share(const std::shared_ptr<SharedArena>& arena);
  /// Whether the device runs the tasks of the fabric's lane itself, because only it reaches its
  /// memory.
  [[nodiscard]] virtual bool moves_between_ranks() const { return false; }

  /// Queues for the lanes of which the device, not a thread, starts each task; null if threads run
  /// all lanes. Device and program must outlive the queues.
  [[nodiscard]] virtual std::unique_ptr<DeviceQueues> open_queues(const Program& /*program*/) {
    return nullptr;
  }
};

}  // namespace sluice::engine
