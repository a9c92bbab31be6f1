// Generation of one sequence: the prompt in chunks of many tokens, then one token per pass.
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
  std::int64_t new_tokens = 0;           ///< Largest number of tokens to generate.
  std::vector<std::int32_t> end_tokens;  ///< Any of these tokens ends the generation.
  SamplerSettings sampler;
};

class Generation : public PassWork {
 public:
  /// Prepares to continue `prompt`. A pass processes at most `job.sequence_chunk` tokens. Prompt
  /// and new tokens must fit in `job.seq_len`; the prompt must not be empty.
  Generation(const planner::Job& job, std::span<const std::int32_t> prompt,
             const GenerationSettings& settings);

  /// Begins anew with another prompt, which must fit as the first did; the sampler goes on. Call it
  /// between two runs on one session.
  void restart(std::span<const std::int32_t> prompt);

  /// Generates on `session`, which must have been made with this object as its work, until an end
  /// token, `new_tokens` tokens, or `next` returns false. `next` is called on the calling thread
  /// with every new token except the end token. Returns whether an end token ended the generation.
  bool run(ForwardSession& session, const std::function<bool(std::int32_t token)>& next);

  void fill(std::span<std::int32_t> tokens, std::int64_t pass) override;
  void finish(std::span<const std::byte> result, std::int64_t pass) override;

 private:
  [[nodiscard]] bool ends(std::int32_t token) const;

  const planner::Job& job_;
  GenerationSettings settings_;
  TokenSampler sampler_;
  Device* device_ = nullptr;
  std::vector<std::int32_t> tokens_;  ///< The prompt and the tokens generated so far.
  std::int64_t prompt_ = 0;
  SequencePart part_;
  std::int64_t passes_before_ = 0;  ///< Passes that the session had run for earlier prompts.
  /// Token chosen in each pass (from 1) of this prompt; none for passes that end before the prompt
  /// does, and for those after the end of the generation.
  std::vector<std::optional<std::int32_t>> chosen_;
  std::atomic<bool> over_{false};
};

}  // namespace sluice::engine
