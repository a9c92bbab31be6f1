#include "planner/predictions/predict.hpp"

#include <algorithm>
#include <span>

#include "planner/costs/fabric_rates.hpp"
#include "planner/costs/fp8_work.hpp"
#include "planner/costs/job_calibration.hpp"
#include "planner/files/hash.hpp"
#include "planner/graph/steady_state.hpp"
#include "planner/graph/step_builder.hpp"
#include "planner/layout/laid_out.hpp"
#include "planner/models/slices.hpp"
#include "planner/predictions/chain_bound.hpp"
#include "planner/predictions/interval.hpp"
#include "sim/error.hpp"
#include "sim/simulate.hpp"

namespace sluice::planner {
namespace {

std::vector<std::pair<std::string, double>> busy_shares(const StepGraph& graph,
                                                        const std::vector<TaskTimes>& times) {
  const sim::Period period = *graph.graph.period();
  const Instant begin = times[sim::index(period.first)].end;
  const Instant end = times[sim::index(period.last)].end;
  std::array<Duration, kLaneKinds> busy{};
  for (std::size_t i = 0; i < times.size(); ++i) {
    const Instant from = std::clamp(times[i].start, begin, end);
    const Instant to = std::clamp(times[i].end, begin, end);
    busy[static_cast<std::size_t>(graph.tasks[i].lane)] += to - from;
  }
  std::vector<std::pair<std::string, double>> shares;
  for (std::size_t lane = 0; lane < graph.graph.lanes().size(); ++lane) {
    // Graphs of ranks have the disk's lanes only so that every lane has its kind's number.
    const auto kind = static_cast<LaneKind>(lane);
    const bool disk = kind == LaneKind::disk_read || kind == LaneKind::disk_write;
    if (disk && busy[lane] == Duration{0} && graph.ranks > 1) continue;
    shares.emplace_back(to_string(static_cast<LaneKind>(lane)),
                        to_seconds(busy[lane]) / to_seconds(end - begin));
  }
  return shares;
}

std::vector<TaskTimes> times_of(std::span<const sim::Timeline::Span> spans) {
  std::vector<TaskTimes> times;
  times.reserve(spans.size());
  for (const auto& span : spans) times.push_back({span.start, span.end});
  return times;
}

/// `times` counted from the first start among them.
std::vector<TaskTimes> from_first_start(std::vector<TaskTimes> times) {
  Instant first = times.front().start;
  for (const TaskTimes& time : times) first = std::min(first, time.start);
  for (TaskTimes& time : times) {
    time.start -= first.time_since_epoch();
    time.end -= first.time_since_epoch();
  }
  return times;
}

EvidenceShares evidence_of(const std::vector<CriticalCost>& costs) {
  EvidenceShares shares;
  double total = 0;
  for (const CriticalCost& cost : costs) {
    double& share = cost.evidence == Evidence::measured ? shares.measured
                    : cost.evidence == Evidence::fitted ? shares.fitted
                                                        : shares.datasheet;
    share += cost.time.count();
    total += cost.time.count();
  }
  if (total > 0) {
    shares.measured /= total;
    shares.fitted /= total;
    shares.datasheet /= total;
  }
  return shares;
}

std::vector<LayoutRow> layout_rows(const StepGraph& graph) {
  std::vector<LayoutRow> rows;
  rows.reserve(graph.layout.placements.size());
  for (const Placement& placement : graph.layout.placements) {
    const StepTensor& tensor = graph.tensors[static_cast<std::size_t>(placement.tensor)];
    rows.push_back({to_string(tensor.arena), tensor.name, placement.offset, tensor.bytes,
                    graph.graph.task(placement.first_task).id,
                    graph.graph.task(placement.last_task).id});
  }
  return rows;
}

Bound only(const Bound& bound, BoundBy by) {
  Bound kept;
  kept.by = by;
  kept.time = kept.each[static_cast<std::size_t>(by)] = bound.each[static_cast<std::size_t>(by)];
  return kept;
}

void check_devices(const Plan& plan, const MachineProfile& machine) {
  if (!machine.devices || plan.ranks <= *machine.devices) return;
  throw BadRequest("plan: ranks: " + std::to_string(plan.ranks) + ", and machine " + machine.name +
                   " has " + std::to_string(*machine.devices) +
                   " GPUs: at most so many ranks, or name a machine with more");
}

/// Throws BadRequest where the plan's ranks share weights and its hosts are not the machine's.
void check_shared(const Plan& plan, const MachineProfile& machine) {
  const std::int64_t hosts = machine.fabric ? machine.fabric->hosts : 1;
  if (plan.gather == Gather::fabric || plan.hosts == hosts) return;
  throw BadRequest("plan: gather: host shares weights inside each host, and machine " +
                   machine.name + " has " + std::to_string(hosts) +
                   (hosts == 1 ? " host" : " hosts") + " where the plan has " +
                   std::to_string(plan.hosts) + ": set plan.hosts to " + std::to_string(hosts) +
                   ", or plan.gather to fabric");
}

bool fits(const Memory& memory) {
  return std::all_of(memory.begin(), memory.end(),
                     [](const TierMemory& tier) { return tier.fits(); });
}

}  // namespace

Predictor::Predictor(Job job, ResolvedMachine machine, Calibration calibration, Residency residency,
                     CostSwitches switches, std::int64_t ranks)
    : job_(std::move(job)),
      ranks_(ranks),
      machine_(std::move(machine)),
      residency_(residency),
      taught_(!calibration.empty()),
      costs_(std::make_shared<const ProfileCostModel>(
          machine_.profile, job_calibration(job_, machine_.profile, std::move(calibration)),
          switches)) {
  validate(job_);
  require_fp8_products(job_, machine_.profile);
  part_ = part_of_rank(job_, ranks_);
  pass_times_ = planner::pass_times(part_, *costs_, ranks_);
  bound_ = bound_on(machine_);
}

Bound Predictor::bound_on(const ResolvedMachine& machine) const {
  if (ranks_ > 1) return bound_of_ranks(job_, ranks_, *costs_);
  const Bound bound = bound_of(job_, *costs_, machine, residency_);
  // Bounds of links and memory are valid for fp32 state and dense blocks only.
  const bool valid = job_.executable() && job_.optimizer.state == StateType::fp32;
  return valid ? bound : only(bound, BoundBy::compute);
}

Bound Predictor::bound_with(const Memory& memory) const {
  if (planner::fits(memory)) return bound_;
  ResolvedMachine roomier = machine_;
  roomier.hbm = std::max(roomier.hbm, at(memory, Tier::hbm).peak);
  roomier.host = std::max(roomier.host, at(memory, Tier::host).peak);
  return bound_on(roomier);
}

Predictor Predictor::with_host(Bytes host) const {
  Predictor other = *this;
  other.machine_.host = host;
  other.bound_ = bound_on(other.machine_);
  return other;
}

Predictor Predictor::with_batch(std::int64_t batch_size) const {
  Predictor other = *this;
  other.job_.batch_size = batch_size;
  other.job_.groups = std::min(other.job_.groups, other.job_.micro_batches());
  // Fewer micro-batches than groups: each rank has one group, so that they still share a step.
  if (other.job_.groups != job_.groups && ranks_ > 1) other.job_.groups = ranks_;
  validate(other.job_);
  other.part_ = part_of_rank(other.job_, ranks_);
  other.bound_ = other.bound_on(other.machine_);
  return other;
}

Plan Predictor::plan_of(const UnitPlan& unit, std::int64_t rounds) const {
  Plan plan = uniform_plan(part_, unit, rounds);
  plan.ranks = ranks_;
  plan.hosts = hosts_that_sum(machine_.profile, ranks_);
  return plan;
}

PredictedStep Predictor::predict(const Plan& plan) const {
  validate(plan, job_);
  check_devices(plan, machine_.profile);
  check_shared(plan, machine_.profile);
  PredictedStep step{.prediction = {}, .graph = build_step_graph(job_, plan, *costs_), .times = {}};
  SteadySteps steady = steady_steps(step.graph, LookForCycles::always);
  const StepGraph& graph = steady.cycle ? steady.cycle->graph : step.graph;
  const sim::Timeline& timeline = steady.cycle ? steady.cycle->timeline : steady.timeline;
  const std::vector<TaskTimes> times = times_of(timeline.spans);
  step.times =
      steady.cycle
          ? from_first_start(times_of(std::span(timeline.spans).last(step.graph.tasks.size())))
          : times;

  Prediction& p = step.prediction;
  p.parameters = parameter_count(job_.model);
  p.step = steady.step;
  if (steady.cycle) p.cycle = steady.cycle->steps;
  const Seconds time = to_seconds(p.step);
  const auto critical = critical_costs(graph, timeline, *costs_);
  const Seconds half = kInterval90 * period_deviation(critical, time, machine_.profile);
  p.step_low = std::max(time - half, 0.2 * time);
  p.step_high = time + half;
  p.tokens_per_s = static_cast<double>(job_.tokens()) / time.count();
  p.model_flops =
      FlopsPerSecond(model_flops_per_token(job_.model, job_.seq_len).count() * p.tokens_per_s);
  if (machine_.profile.peak_bf16.value > FlopsPerSecond(0)) {
    p.mfu = p.model_flops.count() /
            (machine_.profile.peak_bf16.value.count() * static_cast<double>(plan.ranks));
  }
  p.memory = memory_of(step.graph, machine_);
  p.bound = plan.ranks == 1 ? bound_with(p.memory) : bound_of_ranks(job_, plan.ranks, *costs_);
  p.fits = fits(p.memory);
  p.busy = busy_shares(graph, times);
  p.stalls = stall_times(graph, times);
  p.evidence = evidence_of(critical);
  const std::vector<BasisLine> lines =
      basis_lines({.graph = graph, .costs = *costs_, .critical = critical, .period = time});
  p.basis = merged_lines(lines);
  p.profile_hash = planner::profile_hash(machine_.profile);
  p.errors = step_errors(
      lines, time, machine_.calibration_hash.empty() ? p.profile_hash : machine_.calibration_hash);
  p.machine = machine_.profile.name;
  p.job = job_.model.name + ", " + std::to_string(job_.batch_size) + " x " +
          std::to_string(job_.seq_len) + " tokens a step";
  if (plan.ranks > 1) p.job += ", on " + std::to_string(plan.ranks) + " GPUs";
  p.knowledge = taught_ ? Knowledge::taught : machine_.knowledge;
  p.terms = costs_->switches();
  p.plan = plan;
  p.plan_hash = planner::plan_hash(plan);
  p.job_hash = planner::job_hash(job_);
  p.cost_model_hash = costs_->hash();
  p.numerics_id = numerics_class(machine_.profile);
  p.layout = layout_rows(step.graph);
  if (steady.cycle) step.many = std::move(steady.cycle->graph.graph);
  return step;
}

PlanScore Predictor::score(const Plan& plan, std::optional<Duration> enough) const {
  StepGraph graph = build_timing_graph(job_, plan, *costs_);
  const Memory memory = memory_of(graph, machine_);
  PlanScore score;
  score.hbm = at(memory, Tier::hbm).peak;
  score.host = at(memory, Tier::host).peak;
  if (!fits(memory)) return score;
  if (enough) score.chain = chain_bound(graph.graph);
  if (enough && score.chain >= to_seconds(*enough)) return score;
  score.step = steady_steps(graph, LookForCycles::where_unsettled).step;
  return score;
}

Duration Predictor::step(const Plan& plan) const {
  StepGraph graph = write_step_graph(job_, plan, *costs_);
  return steady_steps(graph, LookForCycles::where_unsettled).step;
}

Prediction predict(const Job& job, const Plan& plan, const ResolvedMachine& machine,
                   const Calibration& calibration) {
  return Predictor(job, machine, calibration).predict(plan).prediction;
}

PlanFile to_plan_file(const Prediction& prediction) {
  PlanFile file;
  file.job_hash = prediction.job_hash;
  file.profile_hash = prediction.profile_hash;
  file.plan = prediction.plan;
  file.layout = prediction.layout;
  PlanPrediction said;
  said.step = to_seconds(prediction.step);
  said.step_low = prediction.step_low;
  said.step_high = prediction.step_high;
  said.tokens_per_s = prediction.tokens_per_s;
  said.bound = prediction.bound.time;
  said.bound_by = to_string(prediction.bound.by);
  said.cost_model_hash = prediction.cost_model_hash;
  file.prediction = said;
  return file;
}

std::string numerics_class(const MachineProfile& profile) {
  CanonicalText text("sluice numerics class 1");
  text.add("device", profile.device == DeviceKind::cuda ? "cuda" : "host");
  text.add("architecture", profile.architecture);
  return text.hash();
}

}  // namespace sluice::planner
