// Command line of `sluice generate`: the prompt, how tokens are chosen, and when to stop.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/forward/forward_subject.hpp"
#include "engine/forward/token_sampler.hpp"

namespace sluice::cli {

struct GenerateRequest {
  std::string prompt;  ///< The text to continue; with `conversation`, its JSON.
  /// File that the prompt's conversation comes from; none where the prompt is a text.
  std::optional<std::string> conversation;
  bool chat = false;  ///< Whether a chat template renders the prompt.
  /// Whether the prompts are messages from stdin, each answered in its turn.
  bool talk = false;
  std::int64_t new_tokens = 128;
  engine::SamplerSettings sampler;
  std::vector<std::string> stops;
  bool ignore_end = false, no_special = false, dry_run = false, verbose = false, json = false;
};

[[nodiscard]] ForwardVerb generate_verb();

/// Reads the flags of `generate`. Throws BadRequest naming the flag.
[[nodiscard]] GenerateRequest read_generate_request(const planner::RunArguments& arguments);

/// Tokens of the request's prompt, or its bytes where `tokenizer` is null. Throws BadRequest if
/// there are none.
[[nodiscard]] std::vector<std::int32_t> prompt_tokens(const GenerateRequest& request,
                                                      engine::Tokenizer* tokenizer);

/// Ids of tokens that end the generation: `eos_token_id` of the folder's generation_config.json,
/// else of its config.json; empty without either.
[[nodiscard]] std::vector<std::int32_t> end_tokens(
    const std::optional<std::filesystem::path>& folder);

}  // namespace sluice::cli
