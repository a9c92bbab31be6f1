#include "engine/training/step_runner.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

#include "engine/optimizer/stochastic_rounding.hpp"
#include "engine/training/collective_task.hpp"
#include "sim/error.hpp"

namespace sluice::engine {

using planner::Role;
using planner::TaskKind;

namespace {

std::span<const double> doubles_of(const BoundAccess& access) {
  return {reinterpret_cast<const double*>(access.data),
          static_cast<std::size_t>(access.bytes.count()) / sizeof(double)};
}

/// Sum, in double, over micro-batches or units in order.
double sum_of(const BoundAccess& access) {
  double sum = 0;
  for (const double each : doubles_of(access)) sum += each;
  return sum;
}

/// Index of the last unit whose gradient is not finite: backward reaches it first, and its values
/// spread to earlier units.
std::optional<std::size_t> last_not_finite(std::span<const double> norms) {
  for (std::size_t unit = norms.size(); unit-- > 0;) {
    if (!std::isfinite(norms[unit])) return unit;
  }
  return std::nullopt;
}

}  // namespace

Diverged::Diverged(std::int64_t step, bool loss, std::optional<std::size_t> gradient_unit,
                   const std::string& where)
    : BadRequest(std::string("training diverged: the ") + (loss ? "loss" : "gradient norm") +
                 " of step " + std::to_string(step) + " is not a finite number" + where +
                 ": lower optimizer.lr, or raise schedule.warmup_steps"),
      step_(step),
      loss_(loss),
      gradient_unit_(gradient_unit) {}

StepRunner::StepRunner(const Program& program, Device& device, const planner::Job& job,
                       TokenSource& tokens, LearningRate learning_rate,
                       std::span<AdamWStep> constants, DiskStore* disk, const RankLinks& links)
    : program_(program),
      device_(device),
      job_(job),
      tokens_(tokens),
      learning_rate_(std::move(learning_rate)),
      disk_(disk),
      links_(links),
      world_(links.world()),
      updates_(constants.empty() ? std::span(own_updates_) : constants) {
  if (world_.size > 1) step_tokens_.resize(static_cast<std::size_t>(2 * job.tokens()));
}

void StepRunner::expect(std::int64_t first, std::int64_t last) {
  first_ = first;
  wants_stop_.store(false);
  results_.assign(static_cast<std::size_t>(last - first + 1), StepResult{});
}

void StepRunner::run(std::uint32_t index, std::int64_t step) {
  const BoundTask& task = program_.task(index);
  if (world_.size == 1) return run_task(task, step);
  try {
    run_task(task, step);
  } catch (const std::exception& error) {
    // Lanes of all ranks may wait for each other, and end only when they hear of it.
    links_.control->fail(error.what());
    throw;
  }
}

void StepRunner::run_task(const BoundTask& task, std::int64_t step) {
  switch (task.kind) {
    case TaskKind::data:
      return gather(task, step);
    case TaskKind::launch:
      // Addresses are the same in every step, so a group is bound once, by the program; a launcher
      // only keeps its place in the order.
      return;
    case TaskKind::grads:
      return reduce(task, step);
    case TaskKind::read_state:
    case TaskKind::write_state:
    case TaskKind::write_gradient:
    case TaskKind::read_gradient:
    case TaskKind::read_weights:
    case TaskKind::write_weights:
      check(disk_ != nullptr, "a plan that uses the disk has a file there");
      return disk_->move(task, before_ + step);
    case TaskKind::gather_weights:
    case TaskKind::exchange_gradients:
    case TaskKind::gather_norms:
    case TaskKind::barrier:
      return run_collective(task, *links_.fabric);
    default:
      return device_.run(task, update_of(step), Pace::link);
  }
}

void StepRunner::gather(const BoundTask& task, std::int64_t step) {
  const BoundAccess& buffer = task.access(Role::tokens);
  const auto tokens = static_cast<std::size_t>(job_.tokens());
  const std::size_t own = tokens / static_cast<std::size_t>(world_.size);
  check(buffer.bytes.count() == static_cast<std::int64_t>(2 * own * sizeof(std::int32_t)),
        "the token buffer holds inputs and targets");
  auto* const part = reinterpret_cast<std::int32_t*>(buffer.data);
  const std::span all = world_.size == 1 ? std::span(part, 2 * tokens) : std::span(step_tokens_);
  const std::int64_t of_run = before_ + step;
  const std::span targets = all.last(tokens);
  tokens_.read((of_run - 1) * job_.batch_size, all.first(tokens), targets);
  if (world_.size > 1) {
    const std::size_t first = own * static_cast<std::size_t>(world_.rank);
    std::ranges::copy(all.subspan(first, own), part);
    std::ranges::copy(targets.subspan(first, own), part + own);
  }
  StepResult& result = expected(step);
  const auto masked = std::ranges::count_if(targets, [](std::int32_t each) { return each < 0; });
  result.padding = std::ranges::count(targets, kPaddingTarget);
  result.targets = std::ssize(targets) - masked;
  result.lr = learning_rate_(of_run);
  // Without clipping an update may run before `grads`; with it, `grads` completes the constants.
  set_update(step, result, gradient_scale(result));
}

void StepRunner::agree_to_stop(std::int64_t step) {
  const std::vector<std::string> wishes = links_.control->gather(wants_stop_.load() ? "stop" : "");
  // Lanes run one step ahead at most, so all ranks can end after the following one.
  if (std::ranges::count(wishes, "stop") > 0) stops_(step + 1);
}

void StepRunner::set_update(std::int64_t step, const StepResult& result, double scale) {
  AdamWStep& update = update_of(step);
  update = adamw_step(job_.optimizer, result.lr, before_ + step, static_cast<float>(scale));
  update.changes_nothing = result.targets == 0;
  update.rounding = rounding_stream(seed_, before_ + step);
}

void StepRunner::reduce(const BoundTask& task, std::int64_t step) {
  StepResult& result = expected(step);
  const std::int64_t of_run = before_ + step;
  const std::int64_t targets = std::max<std::int64_t>(1, result.targets);
  result.loss = sum_of(task.access(Role::loss_sum)) / static_cast<double>(targets);
  if (const BoundAccess* balance = task.find(Role::balance_loss)) {
    result.balance_loss = sum_of(*balance) / static_cast<double>(job_.micro_batches());
  }
  result.grad_norm = std::sqrt(sum_of(task.access(Role::norm_sum))) * gradient_scale(result);
  if (!std::isfinite(result.loss) || !std::isfinite(result.grad_norm)) {
    throw Diverged(of_run, !std::isfinite(result.loss),
                   last_not_finite(doubles_of(task.access(Role::norm_sum))), "");
  }
  if (job_.optimizer.clip) {
    set_update(
        step, result,
        gradient_scale(result) * static_cast<double>(clip_scale(job_.optimizer, result.grad_norm)));
  }
  if (world_.size > 1) agree_to_stop(step);
  result.end = std::chrono::steady_clock::now();
}

}  // namespace sluice::engine
