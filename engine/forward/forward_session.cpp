#include "engine/forward/forward_session.hpp"

namespace sluice::engine {

using planner::ForwardGoal;
using planner::Role;
using planner::TaskKind;

ForwardSession::ForwardSession(ForwardGoal goal, const planner::StepGraph& graph,
                               std::unique_ptr<Device> device, PassWork& work)
    : goal_(goal),
      device_(std::move(device)),
      program_(graph, *device_),
      work_(work),
      // Passes of the other goal have a number of tokens that is known only when they begin.
      queues_(goal == ForwardGoal::loss ? device_->open_queues(program_) : nullptr),
      executor_(program_, *this, nullptr, queues_.get()) {}

std::int64_t ForwardSession::run_to(std::int64_t last,
                                    const std::function<void(std::int64_t)>& pass_done) {
  if (last <= done_) return done_;
  return done_ = executor_.run(done_ + 1, last, pass_done);
}

void ForwardSession::run(std::uint32_t index, std::int64_t pass) {
  const BoundTask& task = program_.task(index);
  switch (task.kind) {
    case TaskKind::data: {
      const BoundAccess& tokens = task.access(Role::tokens);
      work_.fill({reinterpret_cast<std::int32_t*>(tokens.data),
                  static_cast<std::size_t>(tokens.bytes.count()) / sizeof(std::int32_t)},
                 pass);
      return;
    }
    case TaskKind::launch:
      return;
    case TaskKind::grads: {
      const BoundAccess& result =
          task.access(goal_ == ForwardGoal::loss ? Role::loss_sum : Role::logits);
      work_.finish({result.data, static_cast<std::size_t>(result.bytes.count())}, pass);
      return;
    }
    case TaskKind::load_experts:
      return load_experts(task);
    default:
      device_->run(task, AdamWStep{}, Pace::link);
  }
}

/// Copies the experts that tokens are routed to. The places of other experts on the device are not
/// read.
void ForwardSession::load_experts(const BoundTask& task) {
  const BoundAccess& routes = task.access(Role::routes);
  routes_.resize(static_cast<std::size_t>(routes.bytes.count()) / sizeof(std::int32_t));
  device_->read(routes.data, std::as_writable_bytes(std::span(routes_)));
  const std::size_t experts = routes_.size() - 1;
  const auto idle = [this](std::size_t expert) { return routes_[expert + 1] == routes_[expert]; };
  for (std::size_t first = 0, end = 0; first < experts; first = end + 1) {
    for (end = first; end < experts && !idle(end);) ++end;
    if (end == first) continue;
    part_ = task;
    for (BoundAccess& access : part_.accesses) {
      if (access.role == Role::routes) continue;
      const std::int64_t stride = access.bytes.count() / static_cast<std::int64_t>(experts);
      access.data += static_cast<std::int64_t>(first) * stride;
      access.bytes = Bytes(static_cast<std::int64_t>(end - first) * stride);
    }
    device_->run(part_, AdamWStep{}, Pace::link);
  }
}

}  // namespace sluice::engine
