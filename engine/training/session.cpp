#include "engine/training/session.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace sluice::engine {
namespace {

std::unique_ptr<DiskStore> open_disk(const planner::ModelShape& shape,
                                     const planner::StepGraph& graph, Device& device,
                                     const DiskPlace& place) {
  if (graph.layout.disk_bytes == Bytes(0)) return nullptr;
  std::vector<std::span<std::byte>> buffers;
  for (const planner::Placement& placement : graph.layout.placements) {
    const planner::StepTensor& tensor = graph.tensors[static_cast<std::size_t>(placement.tensor)];
    if (tensor.part != planner::kDiskBuffers) continue;
    buffers.push_back(device.arena(tensor.arena)
                          .subspan(static_cast<std::size_t>(placement.offset.count()),
                                   static_cast<std::size_t>(tensor.bytes.count())));
  }
  return std::make_unique<DiskStore>(shape, graph, buffers, place);
}

}  // namespace

Session::Session(const planner::Job& job, const planner::StepGraph& graph,
                 std::unique_ptr<Device> device, TokenSource& tokens,
                 StepRunner::LearningRate learning_rate, Observer* observer, const DiskPlace& place)
    : clips_(job.optimizer.clip.has_value()),
      device_(std::move(device)),
      program_(graph, *device_),
      disk_(open_disk(job.model, graph, *device_, place)),
      state_(job.model, graph, *device_, disk_.get()),
      evaluation_(job, program_, *device_, disk_.get()),
      queues_(device_->open_queues(program_)),
      runner_(program_, *device_, job, tokens, std::move(learning_rate),
              queues_ ? queues_->constants() : std::span<AdamWStep>{}, disk_.get()),
      executor_(program_, runner_, observer, queues_.get()) {}

Session::Session(const planner::Job& job, const planner::StepGraph& graph,
                 std::unique_ptr<Device> device, TokenSource& tokens,
                 StepRunner::LearningRate learning_rate, const InitialWeights& weights,
                 Observer* observer, const DiskPlace& place)
    : Session(job, graph, std::move(device), tokens, std::move(learning_rate), observer, place) {
  state_.initialize(weights);
}

Session::Session(const planner::Job& job, const planner::StepGraph& graph,
                 std::unique_ptr<Device> device, TokenSource& tokens,
                 StepRunner::LearningRate learning_rate, const LoadedState& state,
                 Observer* observer, const DiskPlace& place)
    : Session(job, graph, std::move(device), tokens, std::move(learning_rate), observer, place) {
  state_.load(state);
}

void Session::continue_after(std::int64_t step) {
  check(steps_done_ == before_, "a session goes on from where it starts");
  before_ = steps_done_ = step;
  runner_.start_after(step);
}

bool Session::keeps_weights_on_failure() const {
  // With clipping every update waits for the norm, which the CPU computes; nothing that follows a
  // failed task is enqueued.
  return clips_;
}

std::int64_t Session::run_to(std::int64_t last, const StepDone& step_done) {
  const std::int64_t first = steps_done_ + 1;
  if (last < first) return steps_done_;
  // The program counts from 1 wherever the run began.
  const std::int64_t begin = first - before_;
  const std::int64_t end = last - before_;
  runner_.expect(begin, end);
  std::int64_t ran = 0;
  if (step_done) {
    ran = executor_.run(
        begin, end, [&](std::int64_t step) { step_done(before_ + step, runner_.result(step)); });
  } else {
    ran = executor_.run(begin, end);
  }
  return steps_done_ = before_ + ran;
}

}  // namespace sluice::engine
