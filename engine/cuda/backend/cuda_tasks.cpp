// Compute tasks of a CUDA device, as calls of the templates and kernels.
#include <algorithm>
#include <vector>

#include "engine/cuda/backend/cuda_device.hpp"
#include "engine/cuda/kernels/gradient.hpp"
#include "engine/cuda/kernels/rank_sums.hpp"
#include "engine/cuda/runtime/check.hpp"
#include "engine/cuda/runtime/on_device.hpp"
#include "engine/execution/task_operands.hpp"
#include "planner/graph/step_sums.hpp"
#include "planner/models/slices.hpp"
#include "sim/error.hpp"

namespace sluice::engine {

using planner::LaneKind;
using planner::Role;
using planner::TaskKind;

namespace {

std::byte* workspace_of(const BoundTask& task) { return task.access(Role::workspace).data; }

cuda::Into into_of(const BoundTask& task) {
  return task.first ? cuda::Into::overwrite : cuda::Into::accumulate;
}

}  // namespace

CudaRecord CudaDevice::record_of(const BoundTask& task) const {
  CudaRecord record{
      .input = task.access(Role::input).data, .kept = record_.input_bytes, .layer = task.unit - 1};
  if (const BoundAccess* kept = task.find(Role::record)) {
    record.record = kept->data - record_.input_bytes.count();
    record.kept = record_.input_bytes + kept->bytes;
  }
  if (const BoundAccess* full = task.find(Role::full_record)) record.full = full->data;
  if (const BoundAccess* tokens = task.find(Role::tokens)) {
    record.documents = as<const std::int32_t>(*tokens);
  }
  if (const BoundAccess* forms = task.find(Role::fp8_forms)) record.forms = forms->data;
  record.opens_step = task.kind == TaskKind::forward && task.micro_batch == 0;
  return record;
}

CudaLossArguments CudaDevice::loss_arguments(const BoundTask& task) const {
  const auto* head = as<const std::uint16_t>(task.access(Role::weights));
  const std::int64_t lm_head = templates_.ends().lm_head.offset;
  CudaLossArguments arguments{.head = head,
                              .lm_head = head + lm_head,
                              .input = task.access(Role::input).data,
                              .targets = nullptr,
                              .scale = static_cast<float>(1.0 / static_cast<double>(job_.tokens())),
                              .gradient = nullptr,
                              .lm_head_gradient = nullptr,
                              .into = into_of(task),
                              .stream_gradient = nullptr,
                              .loss_sum = nullptr};
  if (const BoundAccess* tokens = task.find(Role::tokens)) {
    arguments.targets = as<std::int32_t>(*tokens);
  }
  if (const BoundAccess* sum = task.find(Role::loss_sum)) arguments.loss_sum = as<double>(*sum);
  const BoundAccess* tied = task.find(Role::tied_weights);
  if (tied != nullptr) {
    arguments.lm_head = as<const std::uint16_t>(*tied) + templates_.ends().embedding.offset;
  }
  const BoundAccess* gradient = task.find(Role::gradient);
  if (gradient == nullptr) return arguments;
  arguments.gradient = as<float>(*gradient);
  arguments.lm_head_gradient = tied == nullptr ? arguments.gradient + lm_head
                                               : as<float>(task.access(Role::tied_gradient)) +
                                                     templates_.ends().embedding.offset;
  arguments.stream_gradient = task.access(Role::stream_gradient).data;
  return arguments;
}

void CudaDevice::forward(const BoundTask& task, cudaStream_t lane) {
  const auto* weights = as<const std::uint16_t>(task.access(Role::weights));
  std::byte* output = task.access(Role::next_input).data;
  // A part of a sequence may have fewer tokens than the graph has room for.
  const std::int64_t count = job_.sequence_chunk ? part_.count : job_.micro_tokens();
  if (count == 0) return;
  if (task.unit == 0) {
    return templates_.embed_forward(lane, weights, as<std::int32_t>(task.access(Role::tokens)),
                                    count, output);
  }
  if (task.find(Role::routes) != nullptr) {
    return templates_.block_experts(lane, weights, record_of(task), count, output,
                                    workspace_of(task));
  }
  if (const BoundAccess* kept = task.find(Role::key_values)) {
    return templates_.block_extend(lane, weights, record_of(task),
                                   {as<std::uint16_t>(*kept), part_.first, count}, output,
                                   workspace_of(task));
  }
  templates_.block_forward(lane, weights, record_of(task), output, workspace_of(task));
}

void CudaDevice::route(const BoundTask& task, cudaStream_t lane) {
  const BoundAccess& routes = task.access(Role::routes);
  // Without tokens, no routes to any expert.
  if (part_.count == 0) {
    return check_cuda(
        cudaMemsetAsync(routes.data, 0, static_cast<std::size_t>(routes.bytes.count()), lane),
        "routes to experts");
  }
  templates_.block_route(
      lane, as<const std::uint16_t>(task.access(Role::weights)), record_of(task),
      {as<std::uint16_t>(task.access(Role::key_values)), part_.first, part_.count},
      as<std::int32_t>(routes), workspace_of(task));
}

/// Runs the head's tasks: loss and its backward, the loss alone, or the logits of the last token.
void CudaDevice::finish(const BoundTask& task, cudaStream_t lane) {
  const CudaLossArguments arguments = loss_arguments(task);
  if (const BoundAccess* logits = task.find(Role::logits)) {
    if (part_.count == 0) return;
    const std::int64_t row = 2 * job_.model.hidden;
    return templates_.logits(lane, arguments.head, arguments.lm_head,
                             arguments.input + (part_.count - 1) * row, as<float>(*logits),
                             workspace_of(task));
  }
  if (arguments.gradient == nullptr) {
    return templates_.loss_only(lane, arguments, workspace_of(task));
  }
  templates_.loss(lane, arguments, workspace_of(task));
  if (const BoundAccess* balance = task.find(Role::balance_loss)) {
    templates_.balance_loss(lane, arguments.input, as<double>(*balance));
  }
}

void CudaDevice::compute(const BoundTask& task, cudaStream_t lane) {
  const bool embed = task.unit == 0;
  switch (task.kind) {
    case TaskKind::forward:
      return forward(task, lane);
    case TaskKind::route:
      return route(task, lane);
    case TaskKind::loss:
      return finish(task, lane);
    case TaskKind::recompute: {
      const CudaRecord record = record_of(task);
      const planner::Keep from =
          record.kept == record_.input_bytes ? planner::Keep::input : planner::Keep::selective;
      return templates_.block_recompute(lane, as<const std::uint16_t>(task.access(Role::weights)),
                                        record, from, workspace_of(task));
    }
    case TaskKind::backward: {
      auto* gradient = as<float>(task.access(Role::gradient));
      std::byte* stream_gradient = task.access(Role::stream_gradient).data;
      if (embed) {
        return templates_.embed_backward(lane, as<std::int32_t>(task.access(Role::tokens)),
                                         stream_gradient, gradient, into_of(task));
      }
      return templates_.block_backward(lane, as<const std::uint16_t>(task.access(Role::weights)),
                                       gradient, into_of(task), record_of(task), stream_gradient,
                                       workspace_of(task));
    }
    case TaskKind::combine: {
      const BoundAccess& addend = task.access(Role::tied_gradient);
      return cuda::combine(lane, as<float>(task.access(Role::gradient)), as<float>(addend),
                           floats(addend));
    }
    case TaskKind::sum_groups: {
      const BoundAccess& later = task.access(Role::later_gradient);
      return cuda::combine(lane, as<float>(task.access(Role::gradient)), as<float>(later),
                           floats(later));
    }
    case TaskKind::sum_ranks:
      return sum_ranks(task, lane);
    case TaskKind::norm:
      return norm(task, lane);
    case TaskKind::sum_norms:
      return sum_norms(task, lane);
    default:
      check(false, "the device runs copies, compute and updates");
  }
}

/// Adds the ranks' sums of pieces of a gradient, a unit's or a tied head's, where this rank's own
/// lie or apart from them.
void CudaDevice::sum_ranks(const BoundTask& task, cudaStream_t lane) {
  const BoundAccess* apart = task.find(Role::destination);
  for (std::size_t i = 0; task.accesses[i].role != Role::received; ++i) {
    const BoundAccess& own = task.accesses[i];
    const std::byte* const received = received_of(task, own, i).data();
    cuda::sum_ranks(lane, as<const float>(own), reinterpret_cast<const float*>(received),
                    task.members.index_of(task.rank), task.members.count, floats(own),
                    as<float>(apart != nullptr ? *apart : own));
  }
}

void CudaDevice::norm(const BoundTask& task, cudaStream_t lane) {
  const BoundAccess& gradient = task.access(Role::gradient);
  const BoundAccess& blocks = task.access(Role::norm_blocks);
  // What lies behind the unit's parameters in the last ranks' slices counts as zero.
  const std::int64_t slice = floats(gradient);
  const std::int64_t size =
      planner::unit_padded_size(job_.model, static_cast<std::size_t>(task.unit));
  const std::int64_t counted = std::clamp<std::int64_t>(size - task.rank * slice, 0, slice);
  cuda::norm_blocks(lane, as<float>(gradient), counted, as<double>(blocks));
  const Bytes written(8 * ((counted + planner::kNormBlock - 1) / planner::kNormBlock));
  if (written < blocks.bytes) {
    cuda::fill_zero(lane, blocks.data + written.count(), blocks.bytes - written);
  }
  if (const BoundAccess* sum = task.find(Role::norm_sum)) {
    cuda::sum_blocks(lane, as<double>(blocks), blocks.bytes.count() / 8, as<double>(*sum));
  }
  if (job_.gradient_wire == planner::GradientWire::bf16) {
    cuda::round_to_bf16(lane, as<float>(gradient), slice, as<std::uint16_t>(gradient));
  }
}

/// Adds up each unit's norm blocks, which lie in the runs of all ranks, and gives the losses the
/// order of their micro-batches in the step.
void CudaDevice::sum_norms(const BoundTask& task, cudaStream_t lane) {
  const planner::StepSums sums =
      planner::step_sums(planner::part_of_rank(job_, task.ranks), task.ranks);
  const auto part_of = [](const planner::StepSums::Part& part) {
    return cuda::PartOfRuns{part.offset.count() / 8, part.bytes.count() / 8};
  };
  const cuda::RunsOfDoubles runs{as<const double>(task.access(Role::norm_blocks)),
                                 sums.run.count() / 8, task.ranks};
  std::vector<cuda::PartOfRuns> units;
  for (const planner::StepSums::Part& blocks : sums.norm_blocks) units.push_back(part_of(blocks));
  cuda::sum_parts(lane, runs, units, as<double>(task.access(Role::norm_sum)));
  const auto in_order = [&](Role role, const planner::StepSums::Part& part) {
    const BoundAccess* to = task.find(role);
    if (to != nullptr) cuda::copy_part(lane, runs, part_of(part), as<double>(*to));
  };
  in_order(Role::loss_sum, sums.losses);
  in_order(Role::balance_loss, sums.balance_losses);
}

double CudaDevice::loss_only(const BoundTask& task) {
  const OnDevice here(gpu_);
  const CudaLossArguments arguments = loss_arguments(task);
  templates_.loss_only(stream(LaneKind::compute), arguments, workspace_of(task));
  check_cuda(cudaStreamSynchronize(stream(LaneKind::compute)), "a loss");
  double sum = 0;
  read(reinterpret_cast<const std::byte*>(arguments.loss_sum),
       std::as_writable_bytes(std::span(&sum, 1)));
  return sum;
}

}  // namespace sluice::engine
