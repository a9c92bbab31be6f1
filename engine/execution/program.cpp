#include "engine/execution/program.hpp"

#include <algorithm>
#include <queue>
#include <stdexcept>

#include "engine/memory/parallel_memory.hpp"
#include "planner/layout/layout.hpp"
#include "sim/error.hpp"

namespace sluice::engine {

using planner::StepGraph;
using planner::StepTask;

namespace {

Members members_of(const StepGraph& graph, planner::Among among, int rank) {
  const auto size = static_cast<int>(graph.ranks);
  const auto local = static_cast<int>(graph.ranks / graph.hosts);
  switch (among) {
    case planner::Among::host:
      return ranks_of_host(rank, local);
    case planner::Among::hosts:
      return ranks_at_place(rank, local, size);
    case planner::Among::all:
      break;
  }
  return all_ranks(size);
}

}  // namespace

const BoundAccess* BoundTask::find(planner::Role role) const {
  const auto found = std::find_if(accesses.begin(), accesses.end(),
                                  [role](const BoundAccess& a) { return a.role == role; });
  return found == accesses.end() ? nullptr : &*found;
}

const BoundAccess& BoundTask::access(planner::Role role) const {
  const BoundAccess* found = find(role);
  if (found == nullptr) {
    throw std::logic_error("contract broken: a " + std::string(planner::to_string(kind)) +
                           " task of unit " + std::to_string(unit) + " has no access of role " +
                           std::to_string(static_cast<int>(role)));
  }
  return *found;
}

void Device::place(SequencePart /*part*/) {
  throw BadRequest("generate: this backend computes no attention over kept keys");
}

void Device::share(const std::shared_ptr<SharedArena>& /*arena*/) {
  throw BadRequest("plan: gather: this backend shares no weights: set it to fabric");
}

std::shared_ptr<std::byte> Device::memory_to_read_into(Bytes bytes) {
  return map_present(static_cast<std::size_t>(bytes.count()));
}

Program::Program(const StepGraph& graph, Device& device, const planner::HostWindow* window,
                 int rank)
    : rank_(rank) {
  const std::size_t n = graph.tasks_per_step;
  check(n > 0 && graph.tasks.size() == 3 * n && graph.graph.tasks().size() == 3 * n,
        "a step graph holds three identical steps");
  check(graph.layout.placements.size() == graph.tensors.size(), "one placement a tensor");
  tasks_.resize(n);
  after_.resize(n);
  bool has_grads = false;
  for (std::size_t i = 0; i < n; ++i) {
    const StepTask& task = graph.tasks[n + i];
    const sim::Task& node = graph.graph.tasks()[n + i];
    names_.push_back(node.id.substr(node.id.find('/') + 1));
    for (const sim::TaskId before : node.after) {
      const std::size_t j = sim::index(before);
      if (j >= 2 * n) {
        throw std::logic_error("contract broken: task " + node.id + " waits for a later step");
      }
      after_[i].push_back(j >= n ? Dependency{static_cast<std::uint32_t>(j - n), 0}
                                 : Dependency{static_cast<std::uint32_t>(j), 1});
    }
    lanes_[static_cast<std::size_t>(task.lane)].push_back(static_cast<std::uint32_t>(i));
    bind(graph, i, device, window);
    if (task.kind == planner::TaskKind::grads) {
      grads_ = static_cast<std::uint32_t>(i);
      has_grads = true;
    }
  }
  check(has_grads, "a step graph has a grads task");
  order_tasks();
}

std::int64_t Program::first_of_rank(const StepGraph& graph, const StepTask& task) const {
  if (graph.ranks == 1) return 0;
  const auto unit = static_cast<std::size_t>(std::max(0, task.unit));
  const bool in_pieces = unit < graph.disk.size() && !graph.disk[unit].empty();
  if (!in_pieces) return rank_ * task.parameters;  // The update of a whole slice.
  const planner::DiskPiece& last = graph.disk[unit].back();
  return rank_ * (last.first + last.count);
}

void Program::bind(const StepGraph& graph, std::size_t i, Device& device,
                   const planner::HostWindow* window) {
  const StepTask& task = graph.tasks[graph.tasks_per_step + i];
  BoundTask& bound = tasks_[i];
  bound.kind = task.kind;
  bound.lane = task.lane;
  bound.unit = task.unit;
  bound.round = task.round;
  bound.micro_batch = task.micro_batch;
  bound.rank = rank_;
  bound.ranks = static_cast<int>(graph.ranks);
  bound.members = members_of(graph, task.among, rank_);
  bound.first = task.first;
  bound.bytes = task.bytes;
  bound.first_parameter = task.first_parameter + first_of_rank(graph, task);
  bound.parameters = task.parameters;
  bound.accesses.reserve(task.accesses.size());
  for (const planner::Access& access : task.accesses) {
    const auto tensor_index = static_cast<std::size_t>(access.tensor);
    const planner::StepTensor& tensor = graph.tensors[tensor_index];
    const bool in_window = window != nullptr && tensor.arena == planner::Arena::host;
    const Bytes start = in_window ? window->offset(i, bound.accesses.size())
                                  : graph.layout.placements[tensor_index].offset + access.offset;
    const Bytes end = start + access.bytes;
    // The ranges of all ranks lie in every rank's tensor, because all have the same layout.
    const std::int64_t ranges = planner::ranges_of(access, graph.ranks, graph.hosts);
    const Bytes behind = access.rank_stride * (ranges - 1);
    const std::int64_t own = planner::range_of(access, rank_, graph.ranks, graph.hosts);
    if (tensor.arena == planner::Arena::disk) {
      if (end > graph.layout.disk_bytes) {
        throw std::logic_error("contract broken: a task leaves the disk's file");
      }
      bound.disk_offset = start;
      continue;
    }
    const std::span<std::byte> arena = device.arena(tensor.arena);
    if (access.offset + access.bytes + behind > tensor.bytes ||
        (end + behind).count() > static_cast<std::int64_t>(arena.size())) {
      throw std::logic_error("contract broken: task " +
                             graph.graph.tasks()[graph.tasks_per_step + i].id + " leaves tensor " +
                             tensor.name);
    }
    bound.accesses.push_back({access.role, access.mode,
                              arena.data() + (start + access.rank_stride * own).count(),
                              access.bytes, access.rank_stride, access.among});
    Bytes& touched = touched_[static_cast<std::size_t>(tensor.arena)];
    // Addresses are handed out in units of the alignment.
    const std::int64_t unit = planner::kPlacementAlign.count();
    touched = std::max(touched, Bytes(((end + behind).count() + unit - 1) / unit * unit));
  }
}

void Program::order_tasks() {
  const std::size_t n = tasks_.size();
  std::vector<std::vector<std::uint32_t>> next(n);
  std::vector<std::uint32_t> waiting(n, 0);
  const auto edge = [&](std::uint32_t from, std::uint32_t to) {
    next[from].push_back(to);
    ++waiting[to];
  };
  for (std::uint32_t i = 0; i < n; ++i) {
    for (const Dependency& dependency : after_[i]) {
      if (dependency.distance == 0) edge(dependency.task, i);
    }
  }
  for (const auto& lane : lanes_) {
    for (std::size_t i = 1; i < lane.size(); ++i) edge(lane[i - 1], lane[i]);
  }
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t i = 0; i < n; ++i) {
    if (waiting[i] == 0) ready.push(i);
  }
  order_.reserve(n);
  while (!ready.empty()) {
    const std::uint32_t task = ready.top();
    ready.pop();
    order_.push_back(task);
    for (const std::uint32_t successor : next[task]) {
      if (--waiting[successor] == 0) ready.push(successor);
    }
  }
  check(order_.size() == n, "the step template has no cycle");
}

}  // namespace sluice::engine
