// Writer of step graphs: adds tasks with lanes, links, costs and edges from accesses, and cuts
// copies into chunks.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "planner/graph/data_dependencies.hpp"
#include "planner/graph/step_graph.hpp"

namespace sluice::planner {

/// A byte range of one tensor.
struct Range {
  TensorIndex tensor;
  Bytes offset{0};
  Bytes bytes{0};
  Bytes rank_stride{0};      ///< How many bytes later the range begins on each following rank.
  Among among = Among::all;  ///< What counts as one: see Access::among.
};

/// The fields of a StepTask that the caller of GraphWriter decides; the writer adds the step's
/// prefix to the id, the cost and the edges.
struct TaskPlace {
  TaskKind kind;
  LaneKind lane;
  std::string id;  ///< The task's id without the prefix of its step, such as "s2/".
  int round = 0;
  int unit = 0;
  int micro_batch = 0;
  bool first = false;
  /// Index in the unit's vector of the first parameter that an update task updates.
  std::int64_t first_parameter = 0;
  Among among = Among::all;
};

/// Whether a graph's tasks have ids and cost keys (`full`) or not (`timing`): neither the graph's
/// time nor its memory needs them, and a search looks at thousands of graphs.
enum class GraphDetail : std::uint8_t { full, timing };

class GraphWriter {
 public:
  /// Makes an empty graph of `job`; tasks get costs from `costs`. Both must outlive the writer.
  /// `threads` is the number of threads of the CPU optimizer, on which interference depends. With
  /// several `ranks`, on `hosts` hosts, `job` is the part of each (part_of_rank), the graph is that
  /// of any of them, and it has 1 / ranks of the capacity of links that they share. Throws
  /// BadRequest where several ranks have no fabric.
  GraphWriter(const Job& job, const CostModel& costs, std::int64_t threads,
              GraphDetail detail = GraphDetail::full, std::int64_t ranks = 1,
              std::int64_t hosts = 1);

  TensorIndex add_tensor(StepTensor tensor);
  sim::PoolId add_pool(std::string name, Bytes capacity);

  /// Adds the lanes and links of the disk. Throws BadRequest where the machine's disk rates are not
  /// known.
  void add_disk();

  void begin_step(int step);
  sim::TaskId add_compute(const TaskPlace& place, Pass pass, std::vector<Access> accesses,
                          const std::vector<sim::TaskId>& after = {});
  /// Adds a compute task of another size than its unit's, with its cost key and its work.
  sim::TaskId add_work(const TaskPlace& place, const CostKey& key, const Work& work,
                       std::vector<Access> accesses);
  /// Adds a collective that brings `bytes` bytes to each rank.
  sim::TaskId add_collective(const TaskPlace& place, Collective operation, Bytes bytes,
                             std::vector<Access> accesses,
                             const std::vector<sim::TaskId>& after = {});
  sim::TaskId add_update(const TaskPlace& place, std::int64_t parameters, std::int64_t threads,
                         std::vector<Access> accesses, const std::vector<sim::TaskId>& after);
  /// Adds a task in which `threads` threads of the CPU pass over `parameters` parameters once, as
  /// `pass` states (Plan::host_passes).
  sim::TaskId add_host_pass(const TaskPlace& place, const HostPass& pass, std::int64_t parameters,
                            std::int64_t threads, std::vector<Access> accesses,
                            const std::vector<sim::TaskId>& after);
  sim::TaskId add_launch(const TaskPlace& place, std::int64_t kernels);
  sim::TaskId add_data(const TaskPlace& place, Range tokens,
                       const std::vector<sim::TaskId>& after = {});
  sim::TaskId add_grads(const TaskPlace& place, std::vector<Access> accesses);
  /// Tasks that add_copy made of one copy: one for each chunk of at most `chunk` bytes (one for all
  /// if `chunk` is 0), with ids "<id>/c<n>", n counted from `first_chunk`.
  struct CopyTasks {
    sim::TaskId first, last;
    int chunks;
  };
  CopyTasks add_copy(const TaskPlace& place, Range source, Range destination, Bytes chunk,
                     const std::vector<sim::TaskId>& after = {}, int first_chunk = 0);

  /// Adds one task that copies some of the equal parts of `source` (such as experts of a block);
  /// what `selection` reads at run time says which. Its time is that of a copy of `expected` bytes.
  sim::TaskId add_selected_copy(const TaskPlace& place, Range source, Range destination,
                                Bytes expected, Access selection);

  void acquire(sim::TaskId task, sim::PoolId pool, Bytes bytes);
  void release(sim::TaskId task, sim::PoolId pool, Bytes bytes);
  /// Makes every copy in `tasks` acquire as many bytes of `pool` as it moves.
  void acquire(const CopyTasks& tasks, sim::PoolId pool);
  void release(const CopyTasks& tasks, sim::PoolId pool, Bytes rest);
  /// The task added last among those that access `tensor`; none where no task accesses it yet.
  [[nodiscard]] std::optional<sim::TaskId> last_access(TensorIndex tensor) const;

  [[nodiscard]] StepGraph& graph() { return result_; }
  [[nodiscard]] std::int64_t ranks() const { return result_.ranks; }
  [[nodiscard]] DeviceKind device() const { return costs_.device(); }
  /// Whether tasks get ids; if not, the ids in TaskPlace are ignored.
  [[nodiscard]] bool names_tasks() const { return detail_ == GraphDetail::full; }

 private:
  /// Adds the update `task` of a block whose matrices Muon has.
  sim::TaskId add_block_update(const TaskPlace& place, StepTask task, std::vector<Access> accesses,
                               const std::vector<sim::TaskId>& after);
  void add_links(const std::vector<CostModel::LinkCapacity>& links);
  /// Adds a task with the cost of `timed`, the id and lane of `place`, the accesses of `task`, and
  /// edges from those and from `after`.
  sim::TaskId add(const TaskPlace& place, StepTask task, const sim::Task& timed,
                  const std::vector<sim::TaskId>& after);
  /// Task that carries the cost of `key`. At the first request for a key, `price` computes the
  /// cost, which is kept.
  template <class Price>
  const sim::Task& cached(const CostKey& key, Price price);
  [[nodiscard]] sim::Task timed(const TaskCost& cost) const;
  /// Cost key of a copy, and a task that carries its cost.
  struct PricedCopy {
    CostKey key;
    sim::Task timed;
  };
  const PricedCopy& priced_copy(CopyDirection direction, Bytes bytes);
  [[nodiscard]] StepTask copy_task(const TaskPlace& place, Range source, Range destination,
                                   Bytes bytes, const CostKey& key) const;
  /// The tasks of `before_` that `task`, on `lane`, must wait for, without those that end before it
  /// anyway, because each lane runs its tasks in order.
  decltype(sim::Task::after) essential_edges(sim::TaskId task, LaneKind lane) const;

  const Job& job_;
  const CostModel& costs_;
  GraphDetail detail_;
  StepGraph result_;
  DataDependencies dependencies_;
  std::map<std::string, sim::LinkId> links_;
  std::map<std::string, sim::Task> cost_cache_;
  std::map<std::pair<CopyDirection, Bytes>, PricedCopy> copies_;
  /// Tasks that the task being added waits for, possibly repeated.
  std::vector<sim::TaskId> before_;
  std::vector<LaneKind> lanes_;  ///< Lane of every task of the graph, by TaskId.
  std::vector<std::optional<sim::TaskId>> last_access_;
  struct PassWork {
    Work work;
    CostKey key;
    sim::Task timed;
  };
  /// Work and costs of the passes of this job that were asked for so far, by kind of pass, kind of
  /// unit, and position of the chunk in its sequence.
  std::map<std::tuple<Pass, std::size_t, std::int64_t>, PassWork> passes_;
  int step_ = 1;
};

template <class Price>
const sim::Task& GraphWriter::cached(const CostKey& key, Price price) {
  auto found = cost_cache_.find(key.name());
  if (found == cost_cache_.end()) found = cost_cache_.emplace(key.name(), timed(price())).first;
  return found->second;
}

/// The graph of steps 1 to 3, each added by `emitter` through `writer`: emitter.emit(step) adds one
/// step and returns the task that ends it. The third step stands for every later one: the graph's
/// period is from the second's end to the third's.
template <class Emitter>
StepGraph three_steps(GraphWriter& writer, Emitter& emitter) {
  emitter.emit(1);
  const sim::TaskId second = emitter.emit(2);
  const sim::TaskId third = emitter.emit(3);
  StepGraph result = std::move(writer.graph());
  result.graph.set_period({second, third});
  return result;
}

}  // namespace sluice::planner
