// One sequence continued token by token: the prompt in parts of many tokens, then a token a pass.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "engine/forward/forward_session.hpp"
#include "engine/forward/token_sampler.hpp"
#include "planner/models/job.hpp"

namespace sluice::engine {

struct GenerationSettings {
  std::int64_t new_tokens = 0;           ///< At most.
  std::vector<std::int32_t> end_tokens;  ///< After any of which nothing follows.
  SamplerSettings sampler;
};

class Generation : public PassWork {
 public:
  /// `job.sequence_chunk` tokens a pass at most; `job.seq_len` holds prompt and new tokens. The
  /// prompt has one token at least.
  Generation(const planner::Job& job, std::span<const std::int32_t> prompt,
             const GenerationSettings& settings);

  /// Runs on `session`, whose work this is, until an end token, `new_tokens`, or `next` says no.
  /// `next`, on this thread, is given every new token but the end token as it is known. Returns
  /// whether an end token ended it.
  bool run(ForwardSession& session, const std::function<bool(std::int32_t token)>& next);

  void fill(std::span<std::int32_t> tokens, std::int64_t pass) override;
  void finish(std::span<const std::byte> result, std::int64_t pass) override;

 private:
  [[nodiscard]] bool ends(std::int32_t token) const;

  const planner::Job& job_;
  GenerationSettings settings_;
  TokenSampler sampler_;
  Device* device_ = nullptr;
  std::vector<std::int32_t> tokens_;  ///< Prompt and what came of it.
  std::int64_t prompt_;
  SequencePart part_;
  std::vector<std::optional<std::int32_t>> chosen_;  ///< By pass, from 1.
  std::atomic<bool> over_{false};
};

}  // namespace sluice::engine
