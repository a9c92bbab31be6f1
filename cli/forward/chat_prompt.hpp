// The prompt of `sluice generate --chat`: a conversation, rendered by the model's chat template.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cli/forward/generate_request.hpp"
#include "engine/chat/conversation.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::cli {

/// A conversation as text that the model continues with its answer.
struct ChatPrompt {
  std::string text;
  /// Token that ends the model's turns, if the template writes one.
  std::optional<std::string> turn_end;
};

/// The conversation in JSON text: a list of messages, or an object with "messages" whose other
/// fields (tools, documents, the entries of chat_template_kwargs, ...) the template sees too. It is
/// read as rows of data are. Throws BadRequest `WHERE: ...`.
[[nodiscard]] engine::Conversation conversation_of(const std::string& json,
                                                   const std::string& where);

/// Renders the request's conversation, or its prompt as the only message of the user, with the
/// template that `config` names, else that of the model's `folder`. Throws BadRequest if the folder
/// has no tokenizer, if there is no template, or if it refuses the conversation.
[[nodiscard]] ChatPrompt chat_prompt(const GenerateRequest& request,
                                     const std::optional<std::filesystem::path>& folder,
                                     const planner::RunConfig& config);

}  // namespace sluice::cli
