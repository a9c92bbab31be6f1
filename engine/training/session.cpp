#include "engine/training/session.hpp"

#include <algorithm>

#include "engine/training/rank_threads.hpp"
#include "engine/training/shared_tokens.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

SessionRanks one_rank(std::unique_ptr<Device> device, Observer* observer) {
  SessionRanks ranks;
  ranks.devices.push_back(std::move(device));
  ranks.observers.push_back(observer);
  return ranks;
}

/// Ranks that are threads, if they are; processes first find out whether they run the same.
std::unique_ptr<ThreadRanks> threads_of(const planner::Job& job, const planner::StepGraph& graph,
                                        const SessionRanks& ranks) {
  if (ranks.links.control != nullptr) {
    std::vector<AgreedFact> facts = ranks.agreed;
    facts.insert(facts.begin(),
                 {"job hash", planner::job_hash(job), "start all ranks with one RUN.yaml"});
    require_agreement(*ranks.links.control, facts);
    return nullptr;
  }
  if (graph.ranks == 1) return nullptr;
  return std::make_unique<ThreadRanks>(static_cast<int>(graph.ranks), ranks.patience);
}

std::vector<HeldRank> held_by(const std::vector<std::unique_ptr<RankSession>>& ranks) {
  std::vector<HeldRank> held;
  held.reserve(ranks.size());
  for (const auto& each : ranks) {
    held.push_back({each->links.world().rank, each->device.get(), each->disk.get()});
  }
  return held;
}

}  // namespace

std::vector<std::unique_ptr<RankSession>> Session::sessions_of(
    const planner::Job& job, const planner::StepGraph& graph, SessionRanks ranks,
    const StepRunner::LearningRate& learning_rate, const DiskPlace& place) {
  const bool processes = ranks.links.control != nullptr;
  check(std::ssize(ranks.devices) == (processes ? 1 : graph.ranks), "every rank has a device");
  ranks.observers.resize(ranks.devices.size(), nullptr);
  std::vector<std::shared_ptr<SharedArena>> shared(ranks.devices.size());
  if (const Bytes bytes = graph.layout.shared_bytes; bytes > Bytes(0)) {
    const auto local = static_cast<int>(graph.ranks / graph.hosts);
    shared = processes ? std::vector{share_among_processes(bytes, *ranks.links.control, local)}
                       : share_among_threads(bytes, ranks.devices.size(), local);
  }
  std::vector<std::unique_ptr<RankSession>> sessions;
  for (std::size_t i = 0; i < ranks.devices.size(); ++i) {
    const int rank = static_cast<int>(i);
    const RankLinks links = threads_ == nullptr
                                ? ranks.links
                                : RankLinks{&threads_->control(rank), &threads_->fabric(rank)};
    sessions.push_back(std::make_unique<RankSession>(job, graph, std::move(ranks.devices[i]),
                                                     *tokens_, learning_rate, ranks.observers[i],
                                                     place, links, shared[i]));
  }
  return sessions;
}

std::vector<RankLinks> Session::links() const {
  std::vector<RankLinks> links;
  for (const auto& each : ranks_) links.push_back(each->links);
  return links;
}

std::vector<RankEvaluation*> Session::evaluations() const {
  std::vector<RankEvaluation*> evaluations;
  for (const auto& each : ranks_) evaluations.push_back(&each->evaluation);
  return evaluations;
}

Session::Session(const planner::Job& job, const planner::StepGraph& graph, SessionRanks ranks,
                 TokenSource& tokens, const StepRunner::LearningRate& learning_rate,
                 const DiskPlace& place)
    : clips_(job.optimizer.clip.has_value()),
      threads_(threads_of(job, graph, ranks)),
      tokens_(std::make_unique<SharedTokens>(tokens)),
      ranks_(sessions_of(job, graph, std::move(ranks), learning_rate, place)),
      state_(job.model, graph, held_by(ranks_)),
      evaluation_(evaluations(), links()) {}

Session::Session(const planner::Job& job, const planner::StepGraph& graph, SessionRanks ranks,
                 TokenSource& tokens, const StepRunner::LearningRate& learning_rate,
                 const InitialWeights& weights, const DiskPlace& place)
    : Session(job, graph, std::move(ranks), tokens, learning_rate, place) {
  state_.initialize(weights);
}

Session::Session(const planner::Job& job, const planner::StepGraph& graph, SessionRanks ranks,
                 TokenSource& tokens, const StepRunner::LearningRate& learning_rate,
                 const LoadedState& state, const DiskPlace& place)
    : Session(job, graph, std::move(ranks), tokens, learning_rate, place) {
  state_.load(state);
}

Session::Session(const planner::Job& job, const planner::StepGraph& graph,
                 std::unique_ptr<Device> device, TokenSource& tokens,
                 const StepRunner::LearningRate& learning_rate, const InitialWeights& weights,
                 Observer* observer, const DiskPlace& place)
    : Session(job, graph, one_rank(std::move(device), observer), tokens, learning_rate, weights,
              place) {}

Session::Session(const planner::Job& job, const planner::StepGraph& graph,
                 std::unique_ptr<Device> device, TokenSource& tokens,
                 const StepRunner::LearningRate& learning_rate, const LoadedState& state,
                 Observer* observer, const DiskPlace& place)
    : Session(job, graph, one_rank(std::move(device), observer), tokens, learning_rate, state,
              place) {}

void Session::continue_after(std::int64_t step) {
  check(steps_done_ == before_, "a session goes on from where it starts");
  before_ = steps_done_ = step;
  for (const auto& each : ranks_) each->runner.start_after(step);
}

void Session::round_by(std::uint64_t seed) {
  for (const auto& each : ranks_) each->runner.round_by(seed);
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
  std::function<void(std::int64_t)> tell;
  if (step_done) {
    tell = [&](std::int64_t step) {
      step_done(before_ + step, ranks_.front()->runner.result(step));
    };
  }
  std::vector<std::int64_t> ran(ranks_.size());
  try {
    run_on_ranks(links(), [&](std::size_t i) {
      ran[i] = ranks_[i]->run(begin, end, i == 0 ? tell : nullptr);
    });
  } catch (...) {
    // All have ended; an evaluation may follow, to find what failed.
    if (threads_ != nullptr) threads_->begin_again();
    throw;
  }
  check(std::ranges::count(ran, ran.front()) == std::ssize(ran), "ranks end after the same step");
  return steps_done_ = before_ + ran.front();
}

std::optional<std::string> Session::disk_failure() const {
  for (const auto& each : ranks_) {
    if (each->disk == nullptr) continue;
    if (auto why = each->disk->failure()) return why;
  }
  return std::nullopt;
}

Bytes Session::disk_written() const {
  Bytes written(0);
  for (const auto& each : ranks_) {
    if (each->disk != nullptr) written += each->disk->written();
  }
  return written;
}

Bytes Session::touched(planner::Arena arena) const {
  Bytes most(0);
  for (const auto& each : ranks_) most = std::max(most, each->program.touched(arena));
  return most;
}

}  // namespace sluice::engine
