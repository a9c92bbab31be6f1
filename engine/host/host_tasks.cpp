// Tasks of a host device's compute and cpu lanes, as calls of the templates and of the optimizer.
#include <algorithm>
#include <cstring>

#include "engine/execution/task_operands.hpp"
#include "engine/host/host_device.hpp"
#include "engine/host/muon_update.hpp"
#include "engine/host/rank_tree.hpp"
#include "planner/graph/step_sums.hpp"
#include "planner/models/slices.hpp"

namespace sluice::engine {

using planner::Role;

namespace {

std::size_t doubles_in(const BoundAccess& access) {
  return static_cast<std::size_t>(access.bytes.count()) / sizeof(double);
}

/// `sum` plus each of `values`, one after the other.
double added(double sum, std::span<const double> values) {
  for (const double each : values) sum += each;
  return sum;
}

/// Zeroes what follows a unit's `padded` elements in its gradient before the first pass adds to it:
/// with several ranks the padding of the last slices, which their norms include.
void clear_behind(const BoundTask& task, const BoundAccess& gradient, std::int64_t padded) {
  if (!task.first || floats(gradient) <= padded) return;
  std::fill(as<float>(gradient) + padded, as<float>(gradient) + floats(gradient), 0.0F);
}

Workspace workspace_of(const BoundTask& task) {
  const BoundAccess* access = task.find(Role::workspace);
  return access == nullptr ? Workspace{} : Workspace{access->data, access->bytes};
}

}  // namespace

Weights HostDevice::weights_of(const BoundAccess& access) const {
  const auto* high = as<std::uint16_t>(access);
  if (job_.compute != planner::ComputeType::fp32) return {high, nullptr};
  return {high, high + access.bytes.count() / 4};
}

RecordView HostDevice::record_of(const BoundTask& task) const {
  RecordView view{.record = nullptr,
                  .full = nullptr,
                  .kept = record_.input_bytes,
                  .input = task.access(Role::input).data,
                  .layer = task.unit - 1};
  if (const BoundAccess* kept = task.find(Role::record)) {
    view.record = kept->data - record_.input_bytes.count();
    view.kept = record_.input_bytes + kept->bytes;
  }
  if (const BoundAccess* full = task.find(Role::full_record)) view.full = full->data;
  if (const BoundAccess* tokens = task.find(Role::tokens))
    view.documents = as<std::int32_t>(*tokens);
  return view;
}

/// Number of tokens in this pass; a part of a sequence may have fewer than the graph has room for.
std::int64_t HostDevice::part_tokens() const {
  return job_.sequence_chunk ? part_.count : job_.micro_tokens();
}

void HostDevice::forward(const BoundTask& task) const {
  const Weights weights = weights_of(task.access(Role::weights));
  std::byte* output = task.access(Role::next_input).data;
  if (is_embed(task)) {
    templates_.embed_forward(weights, as<std::int32_t>(task.access(Role::tokens)), part_tokens(),
                             output);
  } else if (task.find(Role::routes) != nullptr) {
    if (part_.count == 0) return;
    templates_.block_experts(weights, record_of(task), part_.count, output, workspace_of(task));
  } else if (const BoundAccess* kept = task.find(Role::key_values)) {
    if (part_.count == 0) return;
    templates_.block_extend(weights, record_of(task), {kept->data, part_.first, part_.count},
                            output, workspace_of(task));
  } else {
    templates_.block_forward(weights, record_of(task), output, workspace_of(task));
  }
}

void HostDevice::route(const BoundTask& task) const {
  const BoundAccess& routes = task.access(Role::routes);
  // Without tokens, no routes to any expert.
  if (part_.count == 0) {
    std::memset(routes.data, 0, static_cast<std::size_t>(routes.bytes.count()));
    return;
  }
  templates_.block_route(weights_of(task.access(Role::weights)), record_of(task),
                         {task.access(Role::key_values).data, part_.first, part_.count},
                         as<std::int32_t>(routes), workspace_of(task));
}

/// Runs the head's tasks: loss and its backward, the loss alone, or the logits of the last token.
void HostDevice::finish(const BoundTask& task) const {
  if (const BoundAccess* logits = task.find(Role::logits)) {
    if (part_.count == 0) return;
    const LossArguments arguments = loss_arguments(task);
    const std::int64_t row = job_.model.hidden * job_.compute_element().count();
    templates_.logits(arguments.head, arguments.embed, arguments.input + (part_.count - 1) * row, 1,
                      as<float>(*logits), workspace_of(task));
    return;
  }
  const LossArguments arguments = loss_arguments(task);
  *as<double>(task.access(Role::loss_sum)) =
      arguments.gradient == nullptr ? templates_.loss_only(arguments, workspace_of(task))
                                    : templates_.loss(arguments, workspace_of(task));
  if (const BoundAccess* balance = task.find(Role::balance_loss)) {
    *as<double>(*balance) = templates_.balance_loss(arguments.input);
  }
}

void HostDevice::recompute(const BoundTask& task) const {
  const RecordView record = record_of(task);
  const planner::Keep from =
      record.kept == record_.input_bytes ? planner::Keep::input : planner::Keep::selective;
  templates_.block_recompute(weights_of(task.access(Role::weights)), record, from,
                             workspace_of(task));
}

void HostDevice::backward(const BoundTask& task) const {
  const BoundAccess& access = task.access(Role::gradient);
  clear_behind(task, access, padded_of(task.unit));
  auto* gradient = as<float>(access);
  std::byte* stream_gradient = task.access(Role::stream_gradient).data;
  if (is_embed(task)) {
    templates_.embed_backward(as<std::int32_t>(task.access(Role::tokens)), stream_gradient,
                              gradient, task.first);
  } else {
    templates_.block_backward(weights_of(task.access(Role::weights)), gradient, task.first,
                              record_of(task), stream_gradient, workspace_of(task));
  }
}

double HostDevice::loss_only(const BoundTask& task) {
  return templates_.loss_only(loss_arguments(task), workspace_of(task));
}

LossArguments HostDevice::loss_arguments(const BoundTask& task) const {
  LossArguments arguments{};
  arguments.head = weights_of(task.access(Role::weights));
  if (const BoundAccess* embed = task.find(Role::tied_weights)) {
    arguments.embed = weights_of(*embed);
  }
  arguments.input = task.access(Role::input).data;
  if (const BoundAccess* tokens = task.find(Role::tokens)) {
    arguments.targets = as<std::int32_t>(*tokens);
  }
  const BoundAccess* gradient = task.find(Role::gradient);
  if (gradient == nullptr) return arguments;
  clear_behind(task, *gradient, padded_of(task.unit));
  if (const BoundAccess* tied = task.find(Role::tied_gradient)) {
    clear_behind(task, *tied, padded_of(0));
    arguments.tied_gradient = as<float>(*tied);
  }
  arguments.scale = static_cast<float>(1.0 / static_cast<double>(job_.tokens()));
  arguments.gradient = as<float>(*gradient);
  arguments.first = task.first;
  arguments.stream_gradient = task.access(Role::stream_gradient).data;
  return arguments;
}

/// Adds a tied head's gradient to the embedding's.
void HostDevice::add_tied(const BoundTask& task) {
  const BoundAccess& addend = task.access(Role::tied_gradient);
  combine(as<float>(task.access(Role::gradient)), as<float>(addend), floats(addend));
}

/// Adds the sum of later groups of micro-batches to that of the groups before them.
void HostDevice::sum_groups(const BoundTask& task) {
  const BoundAccess& later = task.access(Role::later_gradient);
  combine(as<float>(task.access(Role::gradient)), as<float>(later), floats(later));
}

/// Adds the ranks' sums of pieces of a gradient, a unit's or a tied head's, along their tree, a
/// block of elements at a time.
void HostDevice::sum_ranks(const BoundTask& task) {
  const BoundAccess* to = task.find(Role::destination);
  const int index = task.members.index_of(task.rank);
  for (std::size_t i = 0; task.accesses[i].role != Role::received; ++i) {
    const BoundAccess& own = task.accesses[i];
    const std::int64_t elements = floats(own);
    const auto* received = reinterpret_cast<const float*>(received_of(task, own, i).data());
    const auto of_member = [&](int each) -> const float* {
      if (each == index) return as<float>(own);
      return received + (each < index ? each : each - 1) * elements;
    };
    RankTree(task.members.count, of_member).sum(elements, as<float>(to == nullptr ? own : *to));
  }
}

/// Computes the norm of the fp32 gradient. For a bf16 wire the gradient is then rounded in place,
/// so that the update reads the same halves wherever the gradient waits.
void HostDevice::norm(const BoundTask& task) const {
  const BoundAccess& gradient = task.access(Role::gradient);
  const BoundAccess& blocks = task.access(Role::norm_blocks);
  norm_blocks(as<float>(gradient), floats(gradient), as<double>(blocks));
  if (const BoundAccess* sum = task.find(Role::norm_sum)) {
    *as<double>(*sum) = added(0, std::span(as<double>(blocks), doubles_in(blocks)));
  }
  if (job_.gradient_wire == planner::GradientWire::bf16) {
    round_gradient(as<float>(gradient), floats(gradient), as<std::uint16_t>(gradient));
  }
}

/// Adds up each unit's norm blocks, which lie in the runs of all ranks, and gives the losses the
/// order of their micro-batches in the step.
void HostDevice::sum_norms(const BoundTask& task) const {
  const planner::StepSums sums =
      planner::step_sums(planner::part_of_rank(job_, task.ranks), task.ranks);
  const std::byte* runs = task.access(Role::norm_blocks).data;
  const auto of_rank = [&](int rank, const planner::StepSums::Part& part) {
    const std::byte* begin = runs + (sums.run * std::int64_t{rank} + part.offset).count();
    return std::span(reinterpret_cast<const double*>(begin),
                     static_cast<std::size_t>(part.bytes.count()) / sizeof(double));
  };
  auto* norms = as<double>(task.access(Role::norm_sum));
  for (const planner::StepSums::Part& blocks : sums.norm_blocks) {
    double sum = 0;
    for (int rank = 0; rank < task.ranks; ++rank) sum = added(sum, of_rank(rank, blocks));
    *norms++ = sum;
  }
  const auto in_order = [&](const BoundAccess* to, const planner::StepSums::Part& part) {
    if (to == nullptr) return;
    auto* next = as<double>(*to);
    for (int rank = 0; rank < task.ranks; ++rank) {
      next = std::ranges::copy(of_rank(rank, part), next).out;
    }
  };
  in_order(task.find(Role::loss_sum), sums.losses);
  in_order(task.find(Role::balance_loss), sums.balance_losses);
}

void HostDevice::update(const BoundTask& task, const AdamWStep& step) {
  const bool on_device = task.lane == planner::LaneKind::compute;
  ThreadPool& pool = on_device ? single_ : pool_;
  const auto unit = static_cast<std::size_t>(task.unit);
  if (planner::muon_updates(job_, unit)) {
    return muon_update(job_, adamw_operands(task, job_.gradient_wire), muon_[unit], step,
                       task.access(Role::workspace).data, pool);
  }
  update_on_cpu(task, job_, spans_[unit], step, pool);
}

}  // namespace sluice::engine
