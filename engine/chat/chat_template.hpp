// Chat templates: they turn a conversation into the text that the model is trained on.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/chat/conversation.hpp"

namespace sluice::engine {

/// A part of a rendered conversation. Learnt are the assistant's words and the token that ends its
/// turn, but not the line feed behind that token: the text that templates of TRL (Hugging Face's
/// library for training language models) mark with {% generation %}.
struct ChatPiece {
  std::string text;
  bool learnt = false;
};

/// A rendered conversation, or the reason why it is left out of the data.
struct Rendered {
  std::vector<ChatPiece> pieces;
  std::string left_out;  ///< Empty for a good one; else one line that names the field and the fix.
};

/// A handle to one template; copies share it. It renders as transformers' apply_chat_template does.
class ChatTemplate {
 public:
  struct Parts;
  ChatTemplate() = default;  ///< A handle to nothing; only assignment is allowed.
  explicit ChatTemplate(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}

  /// Name and place for messages: "chat_template.jinja of FOLDER", "chatml (shipped)".
  [[nodiscard]] std::string name() const;
  /// Everything that the rendered text depends on, as text that is equal for templates that render
  /// alike; used for hashes.
  [[nodiscard]] std::string canonical() const;
  /// The conversations as text, one result for each, in order. Throws EnvironmentError if the
  /// template cannot be run here, BadRequest if it cannot be run at all.
  [[nodiscard]] std::vector<Rendered> render(std::span<const Conversation> conversations) const;
  /// The conversation with what the template writes before an answer. Throws BadRequest with the
  /// template's reason if it refuses the conversation.
  [[nodiscard]] std::string render_prompt(const Conversation& conversation) const;
  /// Text of the special token that ends the assistant's turns, if the template writes one.
  [[nodiscard]] std::optional<std::string> turn_end() const;
  /// Text that Sluice 0.1.0 hashed in place of canonical(); none for templates that it refused.
  [[nodiscard]] std::optional<std::string> canonical_of_0_1_0() const;
  /// Version of the jinja2 that runs the template.
  [[nodiscard]] std::string jinja2() const;

 private:
  std::shared_ptr<const Parts> parts_;
};

/// The special tokens that a model folder's tokenizer_config.json names.
struct SpecialTokenNames {
  std::optional<std::string> bos, eos;
};
/// Reads the names; errors are those of read_special_tokens().
[[nodiscard]] SpecialTokenNames special_token_names(const std::filesystem::path& model_folder);

/// Whether the template that chat_template_of() would open asks for the date of today: its source
/// spells strftime_now. False where it would open none.
[[nodiscard]] bool asks_for_today(const std::filesystem::path& model_folder,
                                  const std::optional<std::string>& name);

/// The template called `name` (one that is shipped, a .jinja file's path, or one of several that
/// the folder has), or without a name that of the folder (chat_template.jinja, chat_template.json
/// or tokenizer_config.json).
/// `date_string` is the date that the template sees: its variable of that name, and the day that
/// strftime_now() writes; without one that is 26 Jul 2024, as Llama's templates fall back to.
/// Warns on stderr with an example where a named template and the folder's own write different
/// texts. Throws BadRequest if the folder has no template or an unknown one, lacks a special token
/// that the template cannot do without, or a date is given to a template that writes none;
/// EnvironmentError if there is no Python with jinja2.
[[nodiscard]] ChatTemplate chat_template_of(const std::filesystem::path& model_folder,
                                            const std::optional<std::string>& name,
                                            const std::optional<std::string>& date_string);

}  // namespace sluice::engine
