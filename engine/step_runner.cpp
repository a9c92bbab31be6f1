#include "engine/step_runner.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "sim/error.hpp"

namespace sluice::engine {

using planner::Role;
using planner::TaskKind;

StepRunner::StepRunner(const Program& program, Device& device, const planner::Job& job,
                       TokenSource& tokens, LearningRate learning_rate)
    : program_(program),
      device_(device),
      job_(job),
      tokens_(tokens),
      learning_rate_(std::move(learning_rate)) {
  std::size_t most = static_cast<std::size_t>(job.micro_batches());
  for (std::uint32_t i = 0; i < program.size(); ++i) {
    if (program.task(i).kind != TaskKind::norm) continue;
    norms_.push_back(i);
    const Bytes bytes = program.task(i).access(Role::norm_blocks).bytes;
    most = std::max(most, static_cast<std::size_t>(bytes.count()) / sizeof(double));
  }
  std::sort(norms_.begin(), norms_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return program.task(a).unit < program.task(b).unit;
  });
  doubles_.resize(most);
}

void StepRunner::expect(std::int64_t first, std::int64_t last) {
  first_ = first;
  results_.assign(static_cast<std::size_t>(last - first + 1), StepResult{});
}

void StepRunner::run(std::uint32_t index, std::int64_t step) {
  const BoundTask& task = program_.task(index);
  switch (task.kind) {
    case TaskKind::data:
      return gather(task, step);
    case TaskKind::launch:
      // Addresses are the same every step, so a group is bound once, by the program; what remains
      // to a launcher is its turn in the order.
      return;
    case TaskKind::grads:
      return reduce(task, step);
    default:
      return device_.run(task, update_of(step), Pace::link);
  }
}

void StepRunner::gather(const BoundTask& task, std::int64_t step) {
  const BoundAccess& buffer = task.access(Role::tokens);
  const auto tokens = static_cast<std::size_t>(job_.tokens());
  check(buffer.bytes.count() == static_cast<std::int64_t>(2 * tokens * sizeof(std::int32_t)),
        "the token buffer holds inputs and targets");
  auto* inputs = reinterpret_cast<std::int32_t*>(buffer.data);
  tokens_.read((step - 1) * job_.batch_size, {inputs, tokens}, {inputs + tokens, tokens});
  // Without clipping an update may run before `grads`; with it, `grads` completes the constants.
  update_of(step) = adamw_step(job_.optimizer, learning_rate_(step), step, 1.0F);
}

void StepRunner::reduce(const BoundTask& task, std::int64_t step) {
  StepResult& result = results_[static_cast<std::size_t>(step - first_)];
  result.lr = learning_rate_(step);
  result.loss = mean_loss(task);
  result.grad_norm = gradient_norm();
  if (!std::isfinite(result.loss) || !std::isfinite(result.grad_norm)) {
    throw BadRequest("training diverged: the " +
                     std::string(std::isfinite(result.loss) ? "gradient norm" : "loss") +
                     " of step " + std::to_string(step) +
                     " is not a finite number: lower optimizer.lr, or raise schedule.warmup_steps");
  }
  if (job_.optimizer.clip) {
    update_of(step) =
        adamw_step(job_.optimizer, result.lr, step, clip_scale(job_.optimizer, result.grad_norm));
  }
  result.end = std::chrono::steady_clock::now();
}

/// Micro-batches in order, in double, over all tokens of the step.
double StepRunner::mean_loss(const BoundTask& grads) {
  const std::span<double> sums =
      std::span(doubles_).first(static_cast<std::size_t>(job_.micro_batches()));
  device_.read(grads.access(Role::loss_sum).data, std::as_writable_bytes(sums));
  double sum = 0;
  for (const double each : sums) sum += each;
  return sum / static_cast<double>(job_.tokens());
}

/// Blocks in order, then units in order, in double.
double StepRunner::gradient_norm() {
  double sum = 0;
  for (const std::uint32_t norm : norms_) {
    const BoundAccess& access = program_.task(norm).access(Role::norm_blocks);
    const std::span<double> blocks =
        std::span(doubles_).first(static_cast<std::size_t>(access.bytes.count()) / sizeof(double));
    device_.read(access.data, std::as_writable_bytes(blocks));
    double unit = 0;
    for (const double each : blocks) unit += each;
    sum += unit;
  }
  return std::sqrt(sum);
}

}  // namespace sluice::engine
