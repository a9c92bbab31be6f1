// The chat template that a run trained with, among the tokenizer files that it keeps.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace sluice::engine {

/// Jinja sources of a chat template by name, as ChatTemplate::sources has them.
using ChatSources = std::map<std::string, std::string>;

/// SHA-256 of a template's sources.
[[nodiscard]] std::string sources_sha256(const ChatSources& sources);

/// Makes the sources the own template of a run's folder of tokenizer files, in place of the one
/// that the model had: chat_template.jinja, which is read before tokenizer_config.json. Throws
/// EnvironmentError if the disk refuses.
void keep_template(const ChatSources& sources, const std::filesystem::path& folder);

/// Whether the folder's own template has sources of this hash: then it is the one that the run
/// trained with, whatever the run calls it.
[[nodiscard]] bool keeps_template(const std::filesystem::path& folder,
                                  const std::optional<std::string>& sha256);

/// Tells of a template that a run names and does not keep, which is read as it is now: a warning
/// where `sha256`, that of the sources which the run trained with, is another, and a note where the
/// run recorded none, as those before version 0.2.0. Says nothing where they are equal.
void tell_of_unkept_template(const std::string& name, const ChatSources& sources,
                             const std::optional<std::string>& sha256);

}  // namespace sluice::engine
