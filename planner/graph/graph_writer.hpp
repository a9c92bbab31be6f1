// Adds tasks to a step graph: lanes, links, costs, edges from accesses, copies cut into chunks.
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
};

/// The part of a StepTask that the caller decides; the writer adds ids, costs and edges.
struct TaskPlace {
  TaskKind kind;
  LaneKind lane;
  std::string id;  ///< Without the step prefix.
  int round = 0;
  int unit = 0;
  int micro_batch = 0;
  bool first = false;
  std::int64_t first_parameter = 0;  ///< Of an update.
};

/// What a graph says of its tasks beyond what time and memory need: their ids and what calibration
/// knows them by. A search, which looks at thousands of graphs, asks for `timing` alone.
enum class GraphDetail : std::uint8_t { full, timing };

class GraphWriter {
 public:
  /// `threads`: of the CPU optimizer.
  GraphWriter(const Job& job, const CostModel& costs, std::int64_t threads,
              GraphDetail detail = GraphDetail::full);

  TensorIndex add_tensor(StepTensor tensor);
  sim::PoolId add_pool(std::string name, Bytes capacity);

  /// Adds the lanes and links of the disk. Throws BadRequest where its rates are not known.
  void add_disk();

  void begin_step(int step);
  sim::TaskId add_compute(const TaskPlace& place, Pass pass, std::vector<Access> accesses,
                          const std::vector<sim::TaskId>& after = {});
  sim::TaskId add_update(const TaskPlace& place, std::int64_t parameters, std::int64_t threads,
                         std::vector<Access> accesses, const std::vector<sim::TaskId>& after);
  sim::TaskId add_launch(const TaskPlace& place, std::int64_t kernels);
  sim::TaskId add_data(const TaskPlace& place, Range tokens,
                       const std::vector<sim::TaskId>& after = {});
  sim::TaskId add_grads(const TaskPlace& place, std::vector<Access> accesses);
  /// One task a chunk of at most `chunk` bytes (zero: one task); ids "<id>/c<n>" from
  /// `first_chunk`. Returns the first and last task.
  struct CopyTasks {
    sim::TaskId first, last;
    int chunks;
  };
  CopyTasks add_copy(const TaskPlace& place, Range source, Range destination, Bytes chunk,
                     const std::vector<sim::TaskId>& after = {}, int first_chunk = 0);

  /// One task that copies some equal parts of a range: which ones, `selection` says at run time.
  /// Timed as a copy of `expected` bytes.
  sim::TaskId add_selected_copy(const TaskPlace& place, Range source, Range destination,
                                Bytes expected, Access selection);

  void acquire(sim::TaskId task, sim::PoolId pool, Bytes bytes);
  void release(sim::TaskId task, sim::PoolId pool, Bytes bytes);
  /// Every copy of `tasks` acquires or releases the bytes it moves; the last one `rest` more.
  void acquire(const CopyTasks& tasks, sim::PoolId pool);
  void release(const CopyTasks& tasks, sim::PoolId pool, Bytes rest);
  /// The task that touched `tensor` last, in the order of addition.
  [[nodiscard]] std::optional<sim::TaskId> last_access(TensorIndex tensor) const;

  [[nodiscard]] StepGraph& graph() { return result_; }
  [[nodiscard]] DeviceKind device() const { return costs_.device(); }
  /// Whether tasks have ids; where not, those of their places are of no use.
  [[nodiscard]] bool names_tasks() const { return detail_ == GraphDetail::full; }

 private:
  /// `timed`: a task of its cost; id, lane and edges are written.
  sim::TaskId add(const TaskPlace& place, StepTask task, const sim::Task& timed,
                  const std::vector<sim::TaskId>& after);
  /// A task of the cost that `price` gives of the first one with that key.
  template <class Price>
  const sim::Task& cached(const CostKey& key, Price price);
  [[nodiscard]] sim::Task timed(const TaskCost& cost) const;
  /// What calibration knows a copy by, and a task of its cost.
  struct PricedCopy {
    CostKey key;
    sim::Task timed;
  };
  const PricedCopy& priced_copy(CopyDirection direction, Bytes bytes);
  [[nodiscard]] StepTask copy_task(const TaskPlace& place, Range source, Range destination,
                                   Bytes bytes, const CostKey& key) const;
  /// Of the tasks in `before_` those that a task of `lane` must wait for.
  std::vector<sim::TaskId> essential_edges(sim::TaskId task, LaneKind lane) const;

  const Job& job_;
  const CostModel& costs_;
  GraphDetail detail_;
  StepGraph result_;
  DataDependencies dependencies_;
  std::map<std::string, sim::LinkId> links_;
  std::map<std::string, sim::Task> cost_cache_;
  std::map<std::pair<CopyDirection, Bytes>, PricedCopy> copies_;
  std::vector<sim::TaskId> before_;  ///< What the task that is added waits for, repeated and all.
  std::vector<LaneKind> lanes_;      ///< By task.
  std::vector<std::optional<sim::TaskId>> last_access_;
  struct PassWork {
    Work work;
    CostKey key;
    sim::Task timed;
  };
  /// By pass, kind of unit and place in the sequence.
  std::map<std::tuple<Pass, std::size_t, std::int64_t>, PassWork> passes_;
  int step_ = 1;
};

template <class Price>
const sim::Task& GraphWriter::cached(const CostKey& key, Price price) {
  auto found = cost_cache_.find(key.name);
  if (found == cost_cache_.end()) found = cost_cache_.emplace(key.name, timed(price())).first;
  return found->second;
}

/// Steps 1 to 3 of an emitter, whose emit(step) adds one with `writer` and returns the task that
/// ends it. The third stands for every later one: the graph's period is from the second's end to
/// the third's.
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
