// Chat templates: they turn a conversation into the text that the model is trained on.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/chat/conversation.hpp"
#include "planner/runs/data_reading.hpp"

namespace sluice::engine {

/// A part of the text of a conversation, all of it learnt or all only read. The assistant's words
/// and the token that ends its turn are learnt, the line feed behind that token is not: as in the
/// text that templates of TRL (Hugging Face's library for training language models) mark with {%
/// generation %}.
struct ChatPiece {
  std::string text;
  bool learnt = false;
};

/// A conversation as the text that is trained on, in pieces that follow each other; or the reason
/// why it is left out of the data.
struct Rendered {
  std::vector<ChatPiece> pieces;
  /// Reason in one line that names the field at fault and the fix; empty if the conversation was
  /// rendered.
  std::string left_out;
  /// One line for a warning that says why the text may not be what its writer meant; empty for most
  /// texts.
  std::string doubt = {};
};

/// A handle to one compiled chat template; copies share it. It renders as transformers'
/// apply_chat_template does.
class ChatTemplate {
 public:
  struct Parts;
  ChatTemplate() = default;  ///< Makes a handle to no template: only assignment is allowed.
  explicit ChatTemplate(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}

  /// Name and place of the template for messages: "chat_template.jinja of FOLDER", "chatml
  /// (shipped)".
  [[nodiscard]] std::string name() const;
  /// Text that states everything the rendered text depends on, equal for templates that render
  /// alike; it goes into the hash of the data.
  [[nodiscard]] std::string canonical() const;
  /// Renders conversations: one result for each, in order. Throws EnvironmentError if Python or
  /// jinja2 is missing here, BadRequest if the template exceeds its limits of time or memory.
  [[nodiscard]] std::vector<Rendered> render(std::span<const Conversation> conversations) const;
  /// The text of the conversation, followed by what the template writes before the assistant's next
  /// answer (add_generation_prompt). Throws BadRequest with the template's reason if it refuses the
  /// conversation.
  [[nodiscard]] std::string render_prompt(const Conversation& conversation) const;
  /// Text of the special token that ends the assistant's turns, such as "<|im_end|>"; none if the
  /// template writes none there.
  [[nodiscard]] std::optional<std::string> turn_end() const;
  /// Text that Sluice 0.1.0 put into the data's hash where canonical() stands now; none for
  /// templates that 0.1.0 refused. By it a run begun with 0.1.0 is recognised.
  [[nodiscard]] std::optional<std::string> canonical_of_0_1_0() const;
  /// Jinja sources of the template by name: "default" and, where it has another one for
  /// conversations with tools, "tool_use".
  [[nodiscard]] const std::map<std::string, std::string>& sources() const;
  /// Version of the Python library jinja2 that runs the template.
  [[nodiscard]] std::string jinja2() const;

 private:
  std::shared_ptr<const Parts> parts_;
};

/// Texts of the special tokens that begin (bos) and end (eos) a text, as a model folder names them;
/// none for one that it does not have.
struct SpecialTokenNames {
  std::optional<std::string> bos, eos;
};
/// Reads the texts of bos_token and eos_token from tokenizer_config.json, special_tokens_map.json
/// or the defaults of the tokenizer's class. Throws BadRequest for a token that is neither text nor
/// an object with content.
[[nodiscard]] SpecialTokenNames special_token_names(const std::filesystem::path& model_folder);

/// Whether the source of the template that chat_template_of() would open for these arguments spells
/// strftime_now, by which it writes the date of today. False where there is no template to open.
[[nodiscard]] bool asks_for_today(const std::filesystem::path& model_folder,
                                  const std::optional<std::string>& name);

/// The template called `name` (one that is shipped, a .jinja file's path, or one of several that
/// the folder has), or without a name that of the folder (chat_template.jinja, chat_template.json
/// or tokenizer_config.json).
///
/// `date_string` is the date that the template sees: its variable of that name, and the day that
/// strftime_now() writes; without one that is 26 Jul 2024, as Llama's templates fall back to. Warns
/// on stderr with an example where a named template and the folder's own write different texts.
/// `reading` is the version of how a run's data become tokens, none for the present one: the first
/// takes the shipped templates as they were. Throws BadRequest if the folder has no template or an
/// unknown one, lacks a special token that the template cannot do without, or a date is given to a
/// template that writes none; EnvironmentError if there is no Python with jinja2.
[[nodiscard]] ChatTemplate chat_template_of(const std::filesystem::path& model_folder,
                                            const std::optional<std::string>& name,
                                            const std::optional<std::string>& date_string,
                                            std::optional<planner::DataReading> reading = {});

}  // namespace sluice::engine
