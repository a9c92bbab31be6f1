// The prompt of `sluice generate --chat`: a conversation, and the chat template that renders it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cli/forward/generate_request.hpp"
#include "engine/chat/chat_template.hpp"
#include "engine/chat/conversation.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::cli {

/// The conversation in JSON text: a list of messages, or an object with "messages" whose other
/// fields (tools, documents, the entries of chat_template_kwargs, ...) the template sees too. It is
/// read as rows of data are. Throws BadRequest `WHERE: ...`.
[[nodiscard]] engine::Conversation conversation_of(const std::string& json,
                                                   const std::string& where);

/// The request's conversation, or its prompt as the only message of the user.
[[nodiscard]] engine::Conversation conversation_of(const GenerateRequest& request);

/// The chat template that `config` names, else that of the model's `folder`. Throws BadRequest if
/// the folder has no tokenizer, or if there is no template.
[[nodiscard]] engine::ChatTemplate open_chat(const std::optional<std::filesystem::path>& folder,
                                             const planner::RunConfig& config);

}  // namespace sluice::cli
