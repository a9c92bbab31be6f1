// The folder of a run's tokenizer, and whether bytes may stand for tokens without one.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "engine/model_files/checkpoint.hpp"

namespace sluice::engine {

/// Where a model's tokenizer lies, and whether the model can do without one.
struct TokenizerPlace {
  /// Folder whose files may hold a tokenizer and a chat template; none where the model has no
  /// folder, as one of the catalogue.
  std::optional<std::filesystem::path> folder;
  /// Whether byte values may stand for tokens where the folder has no tokenizer: the model begins
  /// without weights, was trained on bytes, or has 256 tokens.
  bool bytes = true;
};

/// Where the tokenizer lies of the model that a run names `model`. A checkpoint's is that of its
/// run, which keeps copies; of older runs, it is that of the folder they began with. Throws
/// BadRequest if such a folder is no longer there.
[[nodiscard]] TokenizerPlace find_tokenizer_place(const std::string& model);

/// Where a checkpoint's tokenizer lies; `folder` is the checkpoint's. Throws BadRequest if it is no
/// longer there.
[[nodiscard]] TokenizerPlace tokenizer_place_of(const std::filesystem::path& folder,
                                                const CheckpointFacts& facts, std::int64_t vocab);

/// Folder of the tokenizer files of a checkpoint's run; none where it had none or they are no
/// longer there.
[[nodiscard]] std::optional<std::filesystem::path> tokenizer_folder_of(
    const Checkpoint& checkpoint);

/// Copies the files of tokenizer and chat template, and config.json, from `from` to the folder
/// `to`, which then holds no others of these. Does nothing and returns false where `from` has none.
/// Throws EnvironmentError if the disk refuses.
bool keep_tokenizer(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace sluice::engine
