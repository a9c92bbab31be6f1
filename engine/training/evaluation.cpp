#include "engine/training/evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "engine/datasets/token_source.hpp"
#include "engine/training/collective_task.hpp"
#include "engine/training/rank_threads.hpp"
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

/// `values` as bytes, to be told to other ranks.
template <class Value>
std::string as_text(std::span<const Value> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

/// The values of all ranks, in order of ranks.
std::vector<double> gathered(Control& control, std::span<const double> values) {
  std::vector<double> all;
  for (const std::string& text : control.gather(as_text(values))) {
    const std::size_t before = all.size();
    all.resize(before + text.size() / sizeof(double));
    std::memcpy(all.data() + before, text.data(), text.size());
  }
  return all;
}

/// Sum of the ranks' numbers.
std::int64_t total(Control& control, std::int64_t number) {
  std::int64_t sum = 0;
  for (const std::string& text : control.gather(std::to_string(number))) sum += std::stoll(text);
  return sum;
}

/// The first value that is not finite on any rank: that of the earliest unit, and there of the
/// earliest micro-batch; none where all are finite.
std::optional<NotFinite> first_of_ranks(Control& control, const std::optional<NotFinite>& found) {
  std::optional<std::pair<std::size_t, std::int64_t>> first;
  const std::string own =
      found ? std::to_string(found->unit) + ' ' + std::to_string(found->micro_batch)
            : std::string();
  for (const std::string& text : control.gather(own)) {
    if (text.empty()) continue;
    const std::size_t space = text.find(' ');
    const std::pair<std::size_t, std::int64_t> each(std::stoull(text),
                                                    std::stoll(text.substr(space)));
    if (!first || each < *first) first = each;
  }
  if (!first) return std::nullopt;
  return NotFinite{first->first, first->second};
}

}  // namespace

RankEvaluation::RankEvaluation(const planner::Job& job, const Program& program, Device& device,
                               DiskStore* disk, const RankLinks& links)
    : job_(job),
      program_(program),
      device_(device),
      disk_(disk),
      links_(links),
      world_(links.world()) {
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
      case TaskKind::gather_weights:
      case TaskKind::store_weights:
      case TaskKind::barrier:
        break;
      default:
        continue;
    }
    tasks_.push_back(index);
  }
  input_tokens_.resize(static_cast<std::size_t>(job.micro_tokens()));
  target_tokens_.resize(static_cast<std::size_t>(job.micro_tokens()));
}

std::vector<RankEvaluation::Pass> RankEvaluation::passes(std::int64_t windows) const {
  check(windows > 0, "an evaluation reads windows");
  const auto slots = static_cast<std::int64_t>(inputs_.size());
  const std::int64_t micro_batches = (windows + job_.micro_batch - 1) / job_.micro_batch;
  std::vector<Pass> passes;
  for (std::int64_t first = 0; first < micro_batches; first += slots * world_.size) {
    const std::int64_t own = first + slots * world_.rank;
    passes.push_back({own, std::clamp<std::int64_t>(micro_batches - own, 0, slots)});
  }
  return passes;
}

std::int64_t RankEvaluation::place_pass(const Pass& pass, std::int64_t windows,
                                        const ReadWindows& read) {
  std::int64_t targets = 0;
  const auto place_all = [&] {
    for (std::int64_t slot = 0; slot < pass.count; ++slot) {
      targets += place(static_cast<std::size_t>(slot), (pass.first + slot) * job_.micro_batch,
                       windows, read);
    }
  };
  if (world_.size == 1) {
    place_all();
    return targets;
  }
  std::exception_ptr error;
  try {
    place_all();
  } catch (...) {
    error = std::current_exception();
  }
  const std::vector<std::string> failed = links_.control->gather(error ? "failed" : "");
  if (std::ranges::count(failed, "failed") > 0) throw EvaluationEnded{error};
  return targets;
}

template <class Run>
void RankEvaluation::for_each_task(const Pass& pass, const Run& run) {
  for (const std::uint32_t index : tasks_) {
    const BoundTask& task = program_.task(index);
    const bool computes = task.kind == TaskKind::forward || task.kind == TaskKind::loss;
    if (computes && task.micro_batch >= pass.count) continue;
    if (!run(task)) return;
  }
}

std::optional<double> RankEvaluation::mean_loss(std::int64_t windows, const ReadWindows& read) {
  std::int64_t targets = 0;
  std::vector<double> losses;  // By pass, and within a pass by micro-batch.
  for (const Pass& pass : passes(windows)) {
    targets += place_pass(pass, windows, read);
    std::vector<double> of_pass;
    for_each_task(pass, [&](const BoundTask& task) {
      if (task.kind == TaskKind::loss) {
        of_pass.push_back(device_.loss_only(task));
      } else {
        run(task);
      }
      return true;
    });
    if (world_.size == 1) {
      losses.insert(losses.end(), of_pass.begin(), of_pass.end());
    } else {
      for (const double each : gathered(*links_.control, of_pass)) losses.push_back(each);
    }
  }
  if (world_.size > 1) targets = total(*links_.control, targets);
  if (targets == 0) return std::nullopt;
  double sum = 0;
  for (const double each : losses) sum += each;
  return sum / static_cast<double>(targets);
}

std::optional<NotFinite> RankEvaluation::find_not_finite(std::int64_t windows,
                                                         const ReadWindows& read) {
  for (const Pass& pass : passes(windows)) {
    (void)place_pass(pass, windows, read);
    std::optional<NotFinite> found;
    for_each_task(pass, [&](const BoundTask& task) {
      bool finite = true;
      if (task.kind == TaskKind::loss) {
        finite = std::isfinite(device_.loss_only(task));
      } else {
        run(task);
        if (const BoundAccess* output = task.find(Role::next_input)) finite = is_finite(*output);
      }
      if (!finite && !found) {
        found = NotFinite{static_cast<std::size_t>(task.unit), pass.first + task.micro_batch};
      }
      // Other ranks count on this one for the weights of later units.
      return finite || world_.size > 1;
    });
    if (world_.size > 1) found = first_of_ranks(*links_.control, found);
    if (found) return found;
  }
  return std::nullopt;
}

void RankEvaluation::run(const BoundTask& task) {
  const bool collective = task.lane == planner::LaneKind::fabric;
  if (collective && !device_.moves_between_ranks()) {
    return run_collective(task, *links_.fabric);
  }
  if (task.kind != TaskKind::read_weights) {
    return device_.run(task, AdamWStep{}, Pace::unlimited);
  }
  constexpr std::int64_t kBetweenSteps = 0;
  disk_->move(task, kBetweenSteps);
}

bool RankEvaluation::is_finite(const BoundAccess& values) {
  // All bits of the exponent set: infinite or not a number.
  std::vector<std::byte> bytes(static_cast<std::size_t>(values.bytes.count()));
  device_.read(values.data, bytes);
  const bool bf16 = job_.compute != planner::ComputeType::fp32;
  const std::size_t step = bf16 ? 2 : 4;
  for (std::size_t at = step; at <= bytes.size(); at += step) {
    std::uint16_t high = 0;  // bf16 is the upper half of fp32.
    std::memcpy(&high, bytes.data() + at - 2, sizeof high);
    if ((high & 0x7f80U) == 0x7f80U) return false;
  }
  return true;
}

std::int64_t RankEvaluation::place(std::size_t slot, std::int64_t first_window,
                                   std::int64_t windows, const ReadWindows& read) {
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

template <class Result, class Evaluate>
Result Evaluation::on_ranks(const ReadWindows& read, const Evaluate& evaluate) {
  if (links_.front().control == nullptr) return evaluate(*ranks_.front(), read);
  std::mutex reading;
  const ReadWindows one_at_a_time = [&](std::int64_t first, std::span<std::int32_t> inputs,
                                        std::span<std::int32_t> targets) {
    const std::lock_guard lock(reading);
    read(first, inputs, targets);
  };
  std::vector<Result> results(ranks_.size());
  std::vector<std::optional<EvaluationEnded>> ends(ranks_.size());
  run_on_ranks(links_, [&](std::size_t rank) {
    try {
      results[rank] = evaluate(*ranks_[rank], one_at_a_time);
    } catch (const EvaluationEnded& end) {
      ends[rank] = end;
    }
  });
  for (const auto& end : ends) {
    if (end && end->cause) std::rethrow_exception(end->cause);
  }
  if (ends.front()) throw EvaluationEnded{};
  return results.front();
}

std::optional<double> Evaluation::mean_loss(std::int64_t windows, const ReadWindows& read) {
  return on_ranks<std::optional<double>>(read, [&](RankEvaluation& rank, const ReadWindows& from) {
    return rank.mean_loss(windows, from);
  });
}

std::optional<NotFinite> Evaluation::find_not_finite(std::int64_t windows,
                                                     const ReadWindows& read) {
  return on_ranks<std::optional<NotFinite>>(read,
                                            [&](RankEvaluation& rank, const ReadWindows& from) {
                                              return rank.find_not_finite(windows, from);
                                            });
}

}  // namespace sluice::engine
