#include "engine/session.hpp"

namespace sluice::engine {

Session::Session(const planner::Job& job, const planner::StepGraph& graph,
                 std::unique_ptr<Device> device, TokenSource& tokens,
                 StepRunner::LearningRate learning_rate, const InitialWeights& weights,
                 Observer* observer)
    : device_(std::move(device)),
      program_(graph, *device_),
      state_(job.model, graph, *device_),
      evaluation_(job, program_, *device_),
      queues_(device_->open_queues(program_)),
      runner_(program_, *device_, job, tokens, std::move(learning_rate),
              queues_ ? queues_->constants() : std::span<AdamWStep>{}),
      executor_(program_, runner_, observer, queues_.get()) {
  state_.initialize(weights);
}

std::int64_t Session::run_to(std::int64_t last, const StepDone& step_done) {
  const std::int64_t first = steps_done_ + 1;
  if (last < first) return steps_done_;
  runner_.expect(first, last);
  if (step_done) {
    steps_done_ = executor_.run(first, last,
                                [&](std::int64_t step) { step_done(step, runner_.result(step)); });
  } else {
    steps_done_ = executor_.run(first, last);
  }
  return steps_done_;
}

}  // namespace sluice::engine
