#include "planner/graph/graph_writer.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "planner/costs/cost_key.hpp"
#include "planner/models/muon.hpp"
#include "planner/models/unit_classes.hpp"
#include "planner/scratch/cuda_workspace.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

/// Bytes that an update of fp32 state reads and writes for each parameter; rates of updates are
/// stated for it.
constexpr std::int64_t kBytesOfUpdate = 28;

}  // namespace

GraphWriter::GraphWriter(const Job& job, const CostModel& costs, std::int64_t threads,
                         GraphDetail detail, std::int64_t ranks, std::int64_t hosts)
    : job_(job), costs_(costs), detail_(detail), dependencies_(ranks, hosts) {
  result_.ranks = ranks;
  result_.state = job.optimizer.state;
  result_.hosts = hosts;
  if (device() == DeviceKind::cuda) {
    result_.rope_tables = rope_table_bytes(job);
    result_.fp8_weights = fp8_weight_bytes(job);
  }
  for (std::size_t lane = 0; lane <= static_cast<std::size_t>(LaneKind::launch); ++lane) {
    result_.graph.add_lane(to_string(static_cast<LaneKind>(lane)));
  }
  add_links(costs.links());
  if (ranks > 1) {
    // A lane's number in the graph is its kind's.
    for (const LaneKind lane : {LaneKind::disk_read, LaneKind::disk_write, LaneKind::fabric}) {
      result_.graph.add_lane(to_string(lane));
    }
    add_links(costs.fabric_links());
  }
  if (const auto boost = costs.boost()) {
    const auto lane = result_.graph.find_lane(to_string(LaneKind::compute));
    check(lane.has_value(), "a step graph has a compute lane");
    result_.graph.add_boost({*lane, boost->gain, boost->most, boost->window, boost->lasting_gain,
                             boost->lasting_window});
  }
  std::vector<CostModel::LaneInterference> slowings = costs.interference(threads);
  if (ranks > 1) {
    const auto more = costs.fabric_interference();
    slowings.insert(slowings.end(), more.begin(), more.end());
  }
  for (const auto& each : slowings) {
    const auto on = result_.graph.find_lane(to_string(each.on));
    const auto from = result_.graph.find_lane(to_string(each.from));
    check(on && from, "interference names lanes of the step graph");
    result_.graph.add_interference({*on, *from, each.factor});
  }
}

void GraphWriter::add_links(const std::vector<CostModel::LinkCapacity>& links) {
  for (const auto& link : links) {
    const Rate capacity =
        link.shared ? link.capacity / static_cast<double>(result_.ranks) : link.capacity;
    links_.emplace(link.name, result_.graph.add_link(link.name, capacity));
  }
}

sim::Task GraphWriter::timed(const TaskCost& cost) const {
  sim::Task task;
  task.latency = cost.latency;
  task.boosts = cost.boosts;
  if (cost.amount.count() == 0) {
    task.work = Seconds(0);
    return task;
  }
  sim::Flow flow{.amount = cost.amount, .cap = cost.cap, .weight = cost.weight, .uses = {}};
  flow.uses.reserve(cost.uses.size());
  for (const auto& [name, per_unit] : cost.uses) {
    const auto link = links_.find(name);
    check(link != links_.end(), "every link that a cost uses is a link of its machine");
    flow.uses.push_back({link->second, per_unit});
  }
  task.work = std::move(flow);
  return task;
}

TensorIndex GraphWriter::add_tensor(StepTensor tensor) {
  // Zero-length tensors would have no address of their own.
  check(tensor.bytes.count() > 0, "a tensor has bytes");
  result_.tensors.push_back(std::move(tensor));
  last_access_.emplace_back();
  return TensorIndex(static_cast<std::uint32_t>(result_.tensors.size() - 1));
}

void GraphWriter::add_disk() {
  if (result_.ranks == 1) {
    for (const LaneKind lane : {LaneKind::disk_read, LaneKind::disk_write}) {
      result_.graph.add_lane(to_string(lane));
    }
  }
  add_links(costs_.disk_links());
}

sim::PoolId GraphWriter::add_pool(std::string name, Bytes capacity) {
  return result_.graph.add_pool(std::move(name), Amount(static_cast<double>(capacity.count())));
}

void GraphWriter::begin_step(int step) {
  step_ = step;
  if (step != 2) return;
  result_.tasks_per_step = result_.tasks.size();
  // Steps are as long as the first one.
  result_.tasks.reserve(3 * result_.tasks_per_step);
}

sim::TaskId GraphWriter::add_compute(const TaskPlace& place, Pass pass,
                                     std::vector<Access> accesses,
                                     const std::vector<sim::TaskId>& after) {
  const std::size_t representative =
      class_representative(job_.model, static_cast<std::size_t>(place.unit));
  const std::int64_t position = place.micro_batch % job_.chunks_per_sequence();
  auto known = passes_.find({pass, representative, position});
  if (known == passes_.end()) {
    PassWork priced{work_of(job_, pass, representative, position),
                    compute_key(job_, pass, representative, position),
                    {}};
    priced.timed = cached(priced.key, [&] { return costs_.compute(priced.key, priced.work); });
    known = passes_.emplace(std::tuple(pass, representative, position), std::move(priced)).first;
  }
  StepTask task{.kind = place.kind, .lane = place.lane};
  task.work = known->second.work;
  if (names_tasks()) task.cost = known->second.key;
  task.accesses = std::move(accesses);
  return add(place, std::move(task), known->second.timed, after);
}

sim::TaskId GraphWriter::add_work(const TaskPlace& place, const CostKey& key, const Work& work,
                                  std::vector<Access> accesses) {
  StepTask task{.kind = place.kind, .lane = place.lane};
  task.work = work;
  if (names_tasks()) task.cost = key;
  task.accesses = std::move(accesses);
  const sim::Task& timed = cached(key, [&] { return costs_.compute(key, work); });
  return add(place, std::move(task), timed, {});
}

sim::TaskId GraphWriter::add_collective(const TaskPlace& place, Collective operation, Bytes bytes,
                                        std::vector<Access> accesses,
                                        const std::vector<sim::TaskId>& after) {
  StepTask task{.kind = place.kind, .lane = place.lane};
  const CostKey key = collective_key(operation, result_.ranks, bytes);
  task.bytes = bytes;
  if (names_tasks()) task.cost = key;
  task.accesses = std::move(accesses);
  const sim::Task& timed = cached(key, [&] { return costs_.collective(key, operation, bytes); });
  return add(place, std::move(task), timed, after);
}

sim::TaskId GraphWriter::add_update(const TaskPlace& place, std::int64_t parameters,
                                    std::int64_t threads, std::vector<Access> accesses,
                                    const std::vector<sim::TaskId>& after) {
  StepTask task{.kind = place.kind, .lane = place.lane};
  const bool on_device = place.lane == LaneKind::compute;
  task.work.parameters = parameters;
  task.work.threads = threads;
  task.work.kernels = 1;
  task.first_parameter = place.first_parameter;
  task.parameters = parameters;
  if (muon_updates(job_, static_cast<std::size_t>(place.unit))) {
    return add_block_update(place, std::move(task), std::move(accesses), after);
  }
  if (on_device) {
    task.work.streamed = job_.update_bytes(parameters);
  }
  // Rates are stated for fp32 state: an update of fewer bytes takes as long as one of fewer
  // parameters.
  if (job_.optimizer.state != StateType::fp32) {
    task.work.parameters = job_.update_bytes(parameters).count() / kBytesOfUpdate;
  }
  // All ranks update at the same time on the threads of one CPU, so the update of one takes as long
  // as one update of what they update together.
  const std::int64_t together = on_device ? 1 : result_.ranks;
  task.work.parameters *= together;
  task.work.threads *= together;
  task.cost = on_device ? device_update_key(job_, parameters)
                        : cpu_update_key(job_, threads * together, parameters * together);
  task.accesses = std::move(accesses);
  const sim::Task& timed = cached(task.cost, [&] {
    if (on_device) return costs_.compute(task.cost, task.work);
    TaskCost cost = costs_.cpu_update(task.cost, task.work);
    for (auto& [link, per_unit] : cost.uses) per_unit /= static_cast<double>(together);
    return cost;
  });
  return add(place, std::move(task), timed, after);
}

sim::TaskId GraphWriter::add_block_update(const TaskPlace& place, StepTask task,
                                          std::vector<Access> accesses,
                                          const std::vector<sim::TaskId>& after) {
  const std::size_t like = class_representative(job_.model, static_cast<std::size_t>(place.unit));
  task.work = work_of(job_, Pass::block_update, like);
  task.cost = compute_key(job_, Pass::block_update, like);
  task.accesses = std::move(accesses);
  const sim::Task& timed = cached(task.cost, [&] { return costs_.compute(task.cost, task.work); });
  return add(place, std::move(task), timed, after);
}

sim::TaskId GraphWriter::add_host_pass(const TaskPlace& place, const HostPass& pass,
                                       std::int64_t parameters, std::int64_t threads,
                                       std::vector<Access> accesses,
                                       const std::vector<sim::TaskId>& after) {
  StepTask task{.kind = place.kind, .lane = place.lane};
  task.work.threads = threads;
  task.work.parameters = std::llround(static_cast<double>(parameters) * pass.bytes_per_parameter /
                                      static_cast<double>(kBytesOfUpdate));
  task.parameters = parameters;
  task.cost = CostKey(CostKind::host_pass, pass.name + "/t" + std::to_string(threads) + "/" +
                                               std::to_string(task.work.parameters));
  task.accesses = std::move(accesses);
  const sim::Task& timed =
      cached(task.cost, [&] { return costs_.cpu_update(task.cost, task.work); });
  return add(place, std::move(task), timed, after);
}

sim::TaskId GraphWriter::add_launch(const TaskPlace& place, std::int64_t kernels) {
  StepTask task{.kind = place.kind, .lane = place.lane};
  task.work.kernels = kernels;
  task.cost = CostKey(CostKind::launch, std::to_string(kernels));
  const sim::Task& timed = cached(task.cost, [&] { return costs_.launch(task.cost, task.work); });
  return add(place, std::move(task), timed, {});
}

sim::TaskId GraphWriter::add_data(const TaskPlace& place, Range tokens,
                                  const std::vector<sim::TaskId>& after) {
  StepTask task{.kind = place.kind, .lane = place.lane};
  task.cost = CostKey(CostKind::data, std::to_string(job_.tokens()));
  task.accesses.push_back({Role::tokens, tokens.tensor, tokens.offset, tokens.bytes, Mode::write});
  const TaskCost cost = costs_.data(task.cost, job_.tokens());
  return add(place, std::move(task), timed(cost), after);
}

sim::TaskId GraphWriter::add_grads(const TaskPlace& place, std::vector<Access> accesses) {
  StepTask task{.kind = place.kind, .lane = place.lane};
  task.cost = CostKey("grads");
  task.accesses = std::move(accesses);
  return add(place, std::move(task), timed(TaskCost{}), {});
}

decltype(sim::Task::after) GraphWriter::essential_edges(sim::TaskId task, LaneKind lane) const {
  // A lane is serial: only the latest task of each lane matters, and none of the task's own lane.
  std::array<std::optional<sim::TaskId>, kLaneKinds> latest;
  std::size_t count = 0;
  for (const sim::TaskId each : before_) {
    check(each < task, "a step graph's edges point forward");
    const LaneKind other = lanes_[index(each)];
    if (other == lane) continue;
    auto& last = latest[static_cast<std::size_t>(other)];
    if (!last) ++count;
    if (!last || *last < each) last = each;
  }
  decltype(sim::Task::after) edges;
  edges.reserve(count);
  for (const auto& last : latest) {
    if (last) edges.push_back(*last);
  }
  std::sort(edges.begin(), edges.end());
  return edges;
}

sim::TaskId GraphWriter::add(const TaskPlace& place, StepTask task, const sim::Task& timed,
                             const std::vector<sim::TaskId>& after) {
  const auto id = sim::TaskId(static_cast<std::uint32_t>(result_.tasks.size()));
  task.step = step_;
  task.round = place.round;
  task.unit = place.unit;
  task.micro_batch = place.micro_batch;
  task.first = place.first;
  task.among = place.among;
  before_.assign(after.begin(), after.end());
  dependencies_.add(id, task.lane, task.accesses, before_);
  for (const Access& access : task.accesses)
    last_access_[static_cast<std::size_t>(access.tensor)] = id;
  sim::Task added = timed;
  if (names_tasks()) added.id = "s" + std::to_string(step_) + "/" + place.id;
  added.lane = sim::LaneId(static_cast<std::uint32_t>(place.lane));
  added.after = essential_edges(id, place.lane);
  result_.graph.add_task(std::move(added));
  result_.tasks.push_back(std::move(task));
  lanes_.push_back(place.lane);
  return id;
}

void GraphWriter::acquire(sim::TaskId task, sim::PoolId pool, Bytes bytes) {
  result_.graph.mutable_tasks()[index(task)].acquire.push_back(
      {pool, Amount(static_cast<double>(bytes.count()))});
}

void GraphWriter::release(sim::TaskId task, sim::PoolId pool, Bytes bytes) {
  result_.graph.mutable_tasks()[index(task)].release.push_back(
      {pool, Amount(static_cast<double>(bytes.count()))});
}

std::optional<sim::TaskId> GraphWriter::last_access(TensorIndex tensor) const {
  return last_access_[static_cast<std::size_t>(tensor)];
}

}  // namespace sluice::planner
