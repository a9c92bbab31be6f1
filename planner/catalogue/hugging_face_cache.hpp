// The cache that Hugging Face's tools keep on this computer:
// models--OWNER--NAME/{refs/REVISION, snapshots/COMMIT/, blobs/}.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace sluice::planner {

/// The cache's folder: $HF_HUB_CACHE, $HUGGINGFACE_HUB_CACHE, $HF_HOME/hub,
/// $XDG_CACHE_HOME/huggingface/hub or ~/.cache/huggingface/hub. None without a home folder.
[[nodiscard]] std::optional<std::filesystem::path> hub_folder();

/// The snapshot of "OWNER/NAME" that `revision` (a branch, tag or commit; none for main) stands
/// for: the one that refs/REVISION names, as transformers takes it. Without refs/main, the only
/// snapshot there is. None where the cache (hub_folder(), then $TRANSFORMERS_CACHE) does not have
/// it. Throws BadRequest where several snapshots could be meant, or the one that is named is not
/// there.
[[nodiscard]] std::optional<std::filesystem::path> cached_snapshot(
    const std::string& hub_id, const std::optional<std::string>& revision);

/// The snapshot that `revision` stands for, chosen as cached_snapshot does, in `folder`, which is a
/// cache's folder models--OWNER--NAME. `hub_id` is named in messages.
[[nodiscard]] std::optional<std::filesystem::path> snapshot_in(
    const std::filesystem::path& folder, const std::string& hub_id,
    const std::optional<std::string>& revision);

/// "OWNER/NAME" of a folder models--OWNER--NAME; none for other folders.
[[nodiscard]] std::optional<std::string> hub_id_of(const std::filesystem::path& folder);

/// The command that downloads a model, "hf download OWNER/NAME", with " --revision REVISION" where
/// one is given.
[[nodiscard]] std::string download_command(const std::string& hub_id,
                                           const std::optional<std::string>& revision);

/// Advice on how to complete the files of a model's folder: the command that downloads it again,
/// with the model's id where the folder is a snapshot in the cache, else with ID in its place.
[[nodiscard]] std::string download_advice(const std::filesystem::path& folder);

}  // namespace sluice::planner
