#include "engine/training/rank_session.hpp"

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

const RankLinks& joined(Device& device, const RankLinks& links,
                        const std::shared_ptr<SharedArena>& shared) {
  device.join(links);
  if (shared) device.share(shared);
  return links;
}

}  // namespace

RankSession::RankSession(const planner::Job& job, const planner::StepGraph& graph,
                         std::unique_ptr<Device> owned, TokenSource& tokens,
                         const StepRunner::LearningRate& learning_rate, Observer* observer,
                         const DiskPlace& place, const RankLinks& given,
                         const std::shared_ptr<SharedArena>& shared)
    : links(joined(*owned, given, shared)),
      device(std::move(owned)),
      program(graph, *device, nullptr, links.world().rank),
      disk(open_disk(job.model, graph, *device, place)),
      evaluation(job, program, *device, disk.get(), links),
      queues(device->open_queues(program)),
      runner(program, *device, job, tokens, learning_rate,
             queues ? queues->constants() : std::span<AdamWStep>{}, disk.get(), links),
      executor(program, runner, observer, queues.get(),
               graph.ranks > 1 ? RunAhead::one_step : RunAhead::freely) {
  check(links.world().size == graph.ranks, "a graph is run by as many ranks as it was built for");
  runner.on_stop([this](std::int64_t last) { executor.stop_after(last); });
}

std::int64_t RankSession::run(std::int64_t begin, std::int64_t end,
                              const std::function<void(std::int64_t step)>& step_done) {
  runner.expect(begin, end);
  if (links.control == nullptr || !step_done) return executor.run(begin, end, step_done);
  return executor.run(begin, end, [&](std::int64_t step) {
    try {
      step_done(step);
    } catch (const std::exception& error) {
      links.control->fail(error.what());
      throw;
    }
  });
}

void RankSession::request_stop() {
  if (links.control == nullptr) return executor.request_stop();
  runner.want_stop();
}

}  // namespace sluice::engine
