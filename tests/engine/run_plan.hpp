// Small jobs, and runs of them under any plan, to test what must not depend on the plan.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "engine/training/session.hpp"
#include "planner/graph/step_graph.hpp"
#include "planner/models/job.hpp"
#include "planner/plans/plan.hpp"

namespace sluice::engine::test {

/// A job and its name.
struct NamedJob {
  std::string name;
  planner::Job job;
};

/// Seed of the initial weights and of the tokens.
inline constexpr std::uint64_t kRunSeed = 11;

/// Synthetic tokens. If attention stays within documents, these have documents of seven tokens,
/// every third target masked, and padding at the end whose length varies by sequence.
class RunTokens : public TokenSource {
 public:
  explicit RunTokens(const planner::Job& job) : job_(job), synthetic_(job.model.vocab, kRunSeed) {}
  void read(std::int64_t position, std::span<std::int32_t> inputs,
            std::span<std::int32_t> targets) override;

 private:
  planner::Job job_;
  SyntheticTokens synthetic_;
};

/// Jobs of three blocks and four micro-batches that between them cover every compute type and
/// gradient wire, tied and untied heads, clipping on and off, q/k norms, biases, a sliding window,
/// documents with masks, and MLPs in chunks.
[[nodiscard]] std::vector<NamedJob> small_jobs();

/// A job with compute fp8 of three blocks, of which the middle one has FP8 operands, with widths of
/// 128.
[[nodiscard]] planner::Job fp8_job();

/// The step graph of `job` under `plan`, with costs that are round numbers.
[[nodiscard]] planner::StepGraph graph_of(const planner::Job& job, const planner::Plan& plan);

/// A session of the graph's ranks, as threads, on rank_devices(). `tokens` must outlive it;
/// `observer` watches the first rank.
[[nodiscard]] std::unique_ptr<Session> make_session(const planner::Job& job,
                                                    const planner::StepGraph& graph,
                                                    const planner::Plan& plan, TokenSource& tokens,
                                                    Observer* observer = nullptr,
                                                    const DiskPlace& place = {},
                                                    const InitialWeights& weights = kRunSeed);

/// Devices of exactly the plan's sizes, with copies at memory speed, for as many ranks as `graph`
/// has, or for one of them where `links` are set; `observers` watch them.
[[nodiscard]] SessionRanks rank_devices(const planner::Job& job, const planner::StepGraph& graph,
                                        const planner::Plan& plan,
                                        std::vector<Observer*> observers = {},
                                        const RankLinks& links = {});

/// Results of a run that must not depend on the plan.
struct Outcome {
  std::vector<std::string> losses;  ///< Bits of each step's loss and gradient norm, in hexadecimal.
  std::string weights_sha256;
  std::string state_sha256;
  std::string validation;  ///< Bits of the validation loss.
  friend bool operator==(const Outcome&, const Outcome&) = default;
};
/// Prints an outcome in GoogleTest's messages.
void PrintTo(const Outcome& outcome, std::ostream* out);

[[nodiscard]] Outcome run_plan(const planner::Job& job, const planner::Plan& plan,
                               std::int64_t steps, const DiskPlace& place = {});

/// Bits of a step's loss and gradient norm, as in Outcome::losses.
[[nodiscard]] std::string bits_of(const StepResult& result);

/// Every field of a plan on one line, for messages.
[[nodiscard]] std::string describe(const planner::Plan& plan);

}  // namespace sluice::engine::test
