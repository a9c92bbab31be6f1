// Chat templates of the supported model families: they turn a conversation into the text that the
// model is trained on.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/chat/chat_template.hpp"

namespace sluice::engine {

/// A message's role (system, user or assistant) and text.
struct FamilyMessage {
  std::string role, text;
};
using FamilyConversation = std::vector<FamilyMessage>;

enum class ChatFamily {
  chatml,   ///< <|im_start|>ROLE\nTEXT<|im_end|>\n: Qwen2, Qwen2.5 and many more.
  qwen3,    ///< Like chatml, with <think> in the turns behind the last question.
  llama3,   ///< <|start_header_id|>ROLE<|end_header_id|>\n\nTEXT<|eot_id|>
  mistral,  ///< [INST] TEXT [/INST]ANSWER</s>
};

/// Where Mistral's templates put a system message, which differs by release.
enum class SystemPlace { nowhere, first_question, last_question };

/// Renders a conversation as transformers' apply_chat_template does without tools and without a
/// generation prompt.
struct FamilyTemplate {
  std::string name;  ///< Name of the template, for messages.
  ChatFamily family = ChatFamily::chatml;
  /// chatml: system message for conversations without one.
  std::optional<std::string> default_system = {};
  /// llama3: text with a date before the system message; Llama 3.1 always has both.
  std::optional<std::string> preamble = {};
  /// Markers around a question and before an answer (mistral).
  std::string open = "[INST] ", close = "[/INST]", before_answer = " ";
  /// Whether answers are trimmed of white space (mistral).
  bool trims_answer = false;
  /// Where the system message goes (mistral).
  SystemPlace system_place = SystemPlace::first_question;
  /// The tokenizer's special tokens, which llama3 and mistral write.
  std::string bos = {}, eos = {};

  /// The conversation as text. Throws BadRequest if the template refuses the conversation.
  [[nodiscard]] std::vector<ChatPiece> render(const FamilyConversation& conversation) const;
  /// Text of the token that ends an answer.
  [[nodiscard]] std::string turn_end() const;
  /// The template as text that is equal for templates that render alike; used for hashes.
  [[nodiscard]] std::string canonical() const;
};

/// The template called chatml, qwen2, qwen2.5, qwen3, llama3, llama3.1, llama3.2 or mistral. Throws
/// BadRequest listing these names for any other.
[[nodiscard]] FamilyTemplate named_chat_template(const std::string& name);

/// The known template that a Jinja source amounts to, recognised by its string literals, filters
/// and methods; white space and parts that only serve tools are ignored. Throws BadRequest `WHERE:
/// ...` with advice if it is none of the known templates.
[[nodiscard]] FamilyTemplate recognised_chat_template(const std::string& source,
                                                      const std::string& where);

/// The template called `name`, or without a name that of the folder (chat_template.jinja,
/// chat_template.json or tokenizer_config.json). `date_string` replaces the template's own default
/// date; today's date is never used. Throws BadRequest if the folder has no template or an unknown
/// one, lacks a special token that the template writes, or a date is given to a template without
/// one.
[[nodiscard]] FamilyTemplate family_template_of(const std::filesystem::path& model_folder,
                                                const std::optional<std::string>& name,
                                                const std::optional<std::string>& date_string);

}  // namespace sluice::engine
