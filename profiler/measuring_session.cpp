#include "profiler/measuring_session.hpp"

#include "engine/host/host_device.hpp"
#include "sim/error.hpp"

namespace sluice::profiler {
namespace {

constexpr std::uint64_t kSeed = 1;

std::unique_ptr<engine::Device> device_for(const planner::Predictor& predictor,
                                           const planner::PredictedStep& step) {
  const planner::ResolvedMachine& machine = predictor.machine();
  if (machine.profile.device != planner::DeviceKind::host) {
    throw BadRequest("machine: " + machine.profile.name +
                     " cannot be measured from here; autotune runs the host backend "
                     "(--machine here, or --backend host)");
  }
  return std::make_unique<engine::HostDevice>(
      predictor.job(),
      engine::host_device_settings(machine, step.graph.layout, step.prediction.plan.threads));
}

}  // namespace

MeasuringSession::MeasuringSession(const planner::Predictor& predictor,
                                   const planner::PredictedStep& step, std::int64_t most_steps)
    : plan_(step.prediction.plan),
      tokens_(predictor.job().model.vocab, kSeed),
      recorder_(step.graph, {.first = 1, .count = most_steps}),
      session_(
          predictor.job(), step.graph, device_for(predictor, step), tokens_,
          [lr = predictor.job().optimizer.lr](std::int64_t) { return lr; }, kSeed, &recorder_) {}

MeasuredRun MeasuringSession::run(std::int64_t steps) {
  check(steps >= 3, "a burst has a step with neighbours");
  recorder_.restart({.first = session_.steps_done() + 1, .count = steps});
  session_.run_to(session_.steps_done() + steps);
  return measured_run(plan_, recorder_);
}

}  // namespace sluice::profiler
