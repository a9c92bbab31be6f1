// The host backend: one process's memory and cores take the place of a device, its HBM and its
// link.
#pragma once

#include <memory>
#include <vector>

#include "engine/execution/device.hpp"
#include "engine/host/mapped_memory.hpp"
#include "engine/host/paced_copy.hpp"
#include "engine/host/templates.hpp"
#include "engine/optimizer/muon.hpp"
#include "engine/optimizer/thread_pool.hpp"
#include "planner/graph/step_graph.hpp"
#include "planner/models/job.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::engine {

/// Settings of the host backend's device (memory and cores in a GPU's place) that do not follow
/// from the job.
struct HostDeviceSettings {
  ArenaSizes arenas;  ///< Sizes of the arenas, from the layout.
  /// Largest sizes of the arenas: the machine's capacity, or the part of it that a run may use.
  ArenaSizes capacity;
  LinkPace h2d;
  LinkPace d2h;
  int threads = 1;  ///< Number of optimizer workers on the cpu lane.
};

/// Settings of a host device with the layout's arena sizes, the machine's capacities and speeds of
/// its links, and `threads` optimizer workers.
[[nodiscard]] HostDeviceSettings host_device_settings(const planner::ResolvedMachine& machine,
                                                      const planner::Layout& layout,
                                                      std::int64_t threads);

/// Host backend: memory and cores in the place of a GPU. Arenas are mapped and made resident at
/// construction; a step's copies take as long as the machine's link would; compute tasks call the
/// layer templates on the compute lane's thread, with OpenBLAS on one thread. Nothing is allocated
/// later.
class HostDevice : public Device {
 public:
  /// Throws Error(does_not_fit) if an arena is larger than its capacity, EnvironmentError if the
  /// system lacks the memory, BadRequest for a model that this backend cannot compute.
  HostDevice(const planner::Job& job, const HostDeviceSettings& settings);

  [[nodiscard]] std::span<std::byte> arena(planner::Arena arena) override;
  void enter_lane(planner::LaneKind lane) override;
  void run(const BoundTask& task, const AdamWStep& update, Pace pace) override;
  void place(SequencePart part) override { part_ = part; }
  [[nodiscard]] double loss_only(const BoundTask& task) override;
  void read(const std::byte* source, std::span<std::byte> destination) override;
  void write(std::span<const std::byte> source, std::byte* destination) override;
  void clear(std::byte* destination, std::size_t bytes) override;
  void share(const std::shared_ptr<SharedArena>& arena) override { shared_ = arena; }

 private:
  void copy(const BoundTask& task, Pace pace) const;
  // Defined in engine/host/host_tasks.cpp.
  void forward(const BoundTask& task) const;
  void route(const BoundTask& task) const;
  void finish(const BoundTask& task) const;
  [[nodiscard]] std::int64_t part_tokens() const;
  void recompute(const BoundTask& task) const;
  void backward(const BoundTask& task) const;
  static void add_tied(const BoundTask& task);
  static void sum_groups(const BoundTask& task);
  static void sum_ranks(const BoundTask& task);
  void norm(const BoundTask& task) const;
  void sum_norms(const BoundTask& task) const;
  void update(const BoundTask& task, const AdamWStep& step);

  /// Elements of a unit's parameter vector, padding included.
  [[nodiscard]] std::int64_t padded_of(int unit) const {
    return padded_[static_cast<std::size_t>(unit)];
  }
  [[nodiscard]] Weights weights_of(const BoundAccess& access) const;
  [[nodiscard]] RecordView record_of(const BoundTask& task) const;
  [[nodiscard]] LossArguments loss_arguments(const BoundTask& task) const;
  [[nodiscard]] bool is_embed(const BoundTask& task) const { return task.unit == 0; }

  planner::Job job_;
  planner::BlockRecord record_;
  HostDeviceSettings settings_;
  HostTemplates templates_;
  SequencePart part_;
  /// For each unit whose matrices Muon has, what is updated how.
  std::vector<MuonUnit> muon_;
  /// For each unit, the ranges of its parameter vector with and without weight decay.
  std::vector<std::vector<AdamWSpan>> spans_;
  std::vector<std::int64_t> padded_;  ///< Padded number of parameters of each unit.
  MappedMemory device_;
  MappedMemory host_;
  std::shared_ptr<SharedArena> shared_;  ///< Null where no weights are shared.
  ThreadPool pool_;                      ///< Workers of the cpu lane.
  ThreadPool single_{1};                 ///< Worker of the compute lane, for updates on the device.
};

}  // namespace sluice::engine
