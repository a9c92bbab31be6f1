#include "engine/training/evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "engine/datasets/token_source.hpp"
#include "sim/error.hpp"

namespace sluice::engine {

using planner::Role;
using planner::TaskKind;

namespace {

/// All tasks that some task of `goals` waits for within the step, lane order included.
std::vector<bool> ancestors(const Program& program, const std::vector<std::uint32_t>& goals) {
  std::vector<std::optional<std::uint32_t>> before_on_lane(program.size());
  for (std::size_t lane = 0; lane < planner::kLaneKinds; ++lane) {
    const auto& tasks = program.lane(static_cast<planner::LaneKind>(lane));
    for (std::size_t i = 1; i < tasks.size(); ++i) before_on_lane[tasks[i]] = tasks[i - 1];
  }
  std::vector<bool> needed(program.size(), false);
  std::vector<std::uint32_t> open = goals;
  const auto visit = [&](std::uint32_t task) {
    if (!needed[task]) open.push_back(task);
    needed[task] = true;
  };
  for (const std::uint32_t goal : goals) needed[goal] = true;
  while (!open.empty()) {
    const std::uint32_t task = open.back();
    open.pop_back();
    for (const Dependency& dependency : program.after(task)) {
      if (dependency.distance == 0) visit(dependency.task);
    }
    if (before_on_lane[task]) visit(*before_on_lane[task]);
  }
  return needed;
}

}  // namespace

Evaluation::Evaluation(const planner::Job& job, const Program& program, Device& device,
                       DiskStore* disk)
    : job_(job), program_(program), device_(device), disk_(disk) {
  std::vector<std::uint32_t> losses;
  for (std::uint32_t i = 0; i < program.size(); ++i) {
    if (program.task(i).kind == TaskKind::loss && program.task(i).round == 0) losses.push_back(i);
  }
  inputs_.resize(losses.size());
  targets_.resize(losses.size());
  const std::vector<bool> needed = ancestors(program, losses);
  for (const std::uint32_t index : program.topological_order()) {
    const BoundTask& task = program.task(index);
    if (!needed[index] || task.round != 0) continue;
    const auto slot = static_cast<std::size_t>(task.micro_batch);
    switch (task.kind) {
      case TaskKind::forward:
        if (task.unit == 0) inputs_[slot] = task.access(Role::tokens).data;
        break;
      case TaskKind::loss:
        targets_[slot] = task.access(Role::tokens).data;
        break;
      case TaskKind::load_weights:
      case TaskKind::read_weights:
        break;
      default:
        continue;
    }
    tasks_.push_back(index);
  }
  input_tokens_.resize(static_cast<std::size_t>(job.micro_tokens()));
  target_tokens_.resize(static_cast<std::size_t>(job.micro_tokens()));
}

template <class Run>
std::int64_t Evaluation::for_each_task(std::int64_t windows, const ReadWindows& read,
                                       const Run& run) {
  check(windows > 0, "an evaluation reads windows");
  const auto slots = static_cast<std::int64_t>(inputs_.size());
  const std::int64_t micro_batches = (windows + job_.micro_batch - 1) / job_.micro_batch;
  std::int64_t targets = 0;
  for (std::int64_t first = 0; first < micro_batches; first += slots) {
    const std::int64_t count = std::min(slots, micro_batches - first);
    for (std::int64_t slot = 0; slot < count; ++slot) {
      targets +=
          place(static_cast<std::size_t>(slot), (first + slot) * job_.micro_batch, windows, read);
    }
    for (const std::uint32_t index : tasks_) {
      const BoundTask& task = program_.task(index);
      const bool computes = task.kind == TaskKind::forward || task.kind == TaskKind::loss;
      if (computes && task.micro_batch >= count) continue;
      if (!run(task, first)) return targets;
    }
  }
  return targets;
}

std::optional<double> Evaluation::mean_loss(std::int64_t windows, const ReadWindows& read) {
  double sum = 0;
  const std::int64_t targets =
      for_each_task(windows, read, [&](const BoundTask& task, std::int64_t) {
        if (task.kind == TaskKind::loss) {
          sum += device_.loss_only(task);
        } else {
          run(task);
        }
        return true;
      });
  if (targets == 0) return std::nullopt;
  return sum / static_cast<double>(targets);
}

std::optional<Evaluation::NotFinite> Evaluation::find_not_finite(std::int64_t windows,
                                                                 const ReadWindows& read) {
  std::optional<NotFinite> found;
  (void)for_each_task(windows, read, [&](const BoundTask& task, std::int64_t first) {
    bool finite = true;
    if (task.kind == TaskKind::loss) {
      finite = std::isfinite(device_.loss_only(task));
    } else {
      run(task);
      if (const BoundAccess* output = task.find(Role::next_input)) finite = is_finite(*output);
    }
    if (!finite) {
      found = NotFinite{static_cast<std::size_t>(task.unit), first + task.micro_batch};
    }
    return finite;
  });
  return found;
}

void Evaluation::run(const BoundTask& task) {
  if (task.kind != TaskKind::read_weights) {
    return device_.run(task, AdamWStep{}, Pace::unlimited);
  }
  constexpr std::int64_t kBetweenSteps = 0;
  disk_->move(task, kBetweenSteps);
}

bool Evaluation::is_finite(const BoundAccess& values) {
  // All bits of the exponent set: infinite or not a number.
  std::vector<std::byte> bytes(static_cast<std::size_t>(values.bytes.count()));
  device_.read(values.data, bytes);
  const bool bf16 = job_.compute == planner::ComputeType::bf16;
  const std::size_t step = bf16 ? 2 : 4;
  for (std::size_t at = step; at <= bytes.size(); at += step) {
    std::uint16_t high = 0;  // bf16 is the upper half of fp32.
    std::memcpy(&high, bytes.data() + at - 2, sizeof high);
    if ((high & 0x7f80U) == 0x7f80U) return false;
  }
  return true;
}

std::int64_t Evaluation::place(std::size_t slot, std::int64_t first_window, std::int64_t windows,
                               const ReadWindows& read) {
  const std::int64_t present = std::min(job_.micro_batch, windows - first_window);
  const auto tokens = static_cast<std::size_t>(present * job_.seq_len);
  std::ranges::fill(input_tokens_, 0);
  std::ranges::fill(target_tokens_, kPaddingTarget);
  read(first_window, std::span(input_tokens_).first(tokens),
       std::span(target_tokens_).first(tokens));
  device_.write(std::as_bytes(std::span(input_tokens_)), inputs_[slot]);
  device_.write(std::as_bytes(std::span(target_tokens_)), targets_[slot]);
  return std::ranges::count_if(target_tokens_, [](std::int32_t each) { return each >= 0; });
}

}  // namespace sluice::engine
