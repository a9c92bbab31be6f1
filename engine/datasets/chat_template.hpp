// Chat templates of the supported families: a conversation as the text that the model was taught.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/datasets/conversation.hpp"

namespace sluice::engine {

/// A part of the rendered text. What the assistant wrote is learnt, with the token that ends its
/// turn and without the line feed behind that: what TRL's templates mark as {% generation %}.
struct ChatPiece {
  std::string text;
  bool learnt = false;
};

enum class ChatFamily {
  chatml,   ///< <|im_start|>ROLE\nTEXT<|im_end|>\n: Qwen2, Qwen2.5 and many more.
  qwen3,    ///< chatml, with <think> in the turns behind the last question.
  llama3,   ///< <|start_header_id|>ROLE<|end_header_id|>\n\nTEXT<|eot_id|>
  mistral,  ///< [INST] TEXT [/INST]ANSWER</s>
};

/// Where Mistral's templates put a system message: they differ by release.
enum class SystemPlace { nowhere, first_question, last_question };

/// Renders what transformers' apply_chat_template does without tools and without a generation
/// prompt.
struct ChatTemplate {
  std::string name;  ///< For people.
  ChatFamily family = ChatFamily::chatml;
  std::optional<std::string> default_system = {};  ///< chatml: where the conversation has none.
  /// llama3: before the system message, which there always is then (Llama 3.1), with a date.
  std::optional<std::string> preamble = {};
  std::string open = "[INST] ", close = "[/INST]", before_answer = " ";  ///< mistral
  bool trims_answer = false;                                             ///< mistral
  SystemPlace system_place = SystemPlace::first_question;                ///< mistral
  std::string bos = {}, eos = {};  ///< The tokenizer's; llama3 and mistral write them.

  /// Throws BadRequest `WHERE: ...` where the template itself refuses the conversation.
  [[nodiscard]] std::vector<ChatPiece> render(const Conversation& conversation,
                                              const std::string& where) const;
  /// Equal texts render alike: for hashes.
  [[nodiscard]] std::string canonical() const;
};

/// chatml, qwen2, qwen2.5, qwen3, llama3, llama3.1, llama3.2 or mistral. Throws BadRequest naming
/// them.
[[nodiscard]] ChatTemplate named_chat_template(const std::string& name);

/// The template that a Jinja source is, by its string literals, filters and methods: white space
/// and parts that only tools reach do not matter. Throws BadRequest `WHERE: ...` with the fix where
/// it is none of those known.
[[nodiscard]] ChatTemplate recognised_chat_template(const std::string& source,
                                                    const std::string& where);

/// The special tokens that a model folder's tokenizer_config.json names.
struct SpecialTokenNames {
  std::optional<std::string> bos, eos;
};
[[nodiscard]] SpecialTokenNames special_token_names(const std::filesystem::path& model_folder);

/// By `name` where it is given, else that of the folder: chat_template.jinja, chat_template.json or
/// tokenizer_config.json. `date_string`: in place of the date that the template falls back to, of
/// today never. Throws BadRequest where the folder has none or an unknown one, lacks a special
/// token that the template writes, or a date is given to a template without one.
[[nodiscard]] ChatTemplate chat_template_of(const std::filesystem::path& model_folder,
                                            const std::optional<std::string>& name,
                                            const std::optional<std::string>& date_string);

}  // namespace sluice::engine
