#include "planner/catalogue/hugging_face_cache.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "planner/files/whole_file.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

using std::filesystem::path;

constexpr std::string_view kModelPrefix = "models--";
/// Least number of digits by which a commit may be named.
constexpr std::size_t kLeastDigits = 7;

/// A folder that an environment variable names, with "~" as the home folder.
std::optional<path> folder_variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  const std::string_view text = value;
  const char* home = std::getenv("HOME");
  if (home != nullptr && (text == "~" || text.starts_with("~/"))) {
    return path(home + std::string(text.substr(1)));
  }
  return path(text);
}

/// Folders that may hold models, in the order in which they are searched.
std::vector<path> cache_folders() {
  std::vector<path> folders;
  if (const auto hub = hub_folder()) folders.push_back(*hub);
  if (const auto older = folder_variable("TRANSFORMERS_CACHE")) folders.push_back(*older);
  return folders;
}

std::vector<path> snapshots_of(const path& folder) {
  std::vector<path> snapshots;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder / "snapshots", error), end;
       !error && entry != end; entry.increment(error)) {
    if (std::filesystem::is_directory(entry->path())) snapshots.push_back(entry->path());
  }
  std::ranges::sort(snapshots);
  return snapshots;
}

/// Content of a file in refs/: a commit.
std::string commit_in(const path& ref) {
  std::string commit = read_whole_file(ref);
  const auto space = [](char letter) { return letter == '\n' || letter == ' ' || letter == '\r'; };
  while (!commit.empty() && space(commit.back())) commit.pop_back();
  return commit;
}

/// The snapshot whose commit begins with `digits`, if there is exactly one.
std::optional<path> snapshot_of_commit(const path& folder, const std::string& digits) {
  std::vector<path> found;
  for (const path& snapshot : snapshots_of(folder)) {
    const std::string name = snapshot.filename().string();
    if (name == digits) return snapshot;
    if (digits.size() >= kLeastDigits && name.starts_with(digits)) found.push_back(snapshot);
  }
  return found.size() == 1 ? std::optional(found.front()) : std::nullopt;
}

}  // namespace

std::optional<path> hub_folder() {
  if (auto hub = folder_variable("HF_HUB_CACHE")) return hub;
  if (auto hub = folder_variable("HUGGINGFACE_HUB_CACHE")) return hub;
  if (const auto home = folder_variable("HF_HOME")) return *home / "hub";
  if (const auto cache = folder_variable("XDG_CACHE_HOME")) return *cache / "huggingface/hub";
  if (const auto home = folder_variable("HOME")) return *home / ".cache/huggingface/hub";
  return std::nullopt;
}

std::optional<path> snapshot_in(const path& folder, const std::string& hub_id,
                                const std::optional<std::string>& revision) {
  const std::string wanted = revision.value_or("main");
  if (const path ref = folder / "refs" / wanted; std::filesystem::is_regular_file(ref)) {
    const std::string commit = commit_in(ref);
    if (!commit.empty() && std::filesystem::is_directory(folder / "snapshots" / commit)) {
      return folder / "snapshots" / commit;
    }
    throw BadRequest("model: " + ref.string() + " names the snapshot \"" + commit.substr(0, 40) +
                     "\", which is not there: " + download_command(hub_id, revision));
  }
  if (revision) return snapshot_of_commit(folder, wanted);
  const std::vector<path> snapshots = snapshots_of(folder);
  if (snapshots.size() > 1) {
    throw BadRequest("model: " + folder.string() + " holds " + std::to_string(snapshots.size()) +
                     " snapshots and no refs/main: name one, such as " + hub_id + "@" +
                     snapshots.front().filename().string());
  }
  return snapshots.empty() ? std::nullopt : std::optional(snapshots.front());
}

std::optional<path> cached_snapshot(const std::string& hub_id,
                                    const std::optional<std::string>& revision) {
  std::string name = std::string(kModelPrefix) + hub_id;
  if (const std::size_t slash = name.find('/'); slash != std::string::npos) {
    name.replace(slash, 1, "--");
  }
  for (const path& cache : cache_folders()) {
    if (!std::filesystem::is_directory(cache / name)) continue;
    if (auto found = snapshot_in(cache / name, hub_id, revision)) return found;
  }
  return std::nullopt;
}

std::optional<std::string> hub_id_of(const path& folder) {
  const path whole = std::filesystem::absolute(folder).lexically_normal();
  std::string name = (whole.has_filename() ? whole : whole.parent_path()).filename().string();
  if (!name.starts_with(kModelPrefix)) return std::nullopt;
  name.erase(0, kModelPrefix.size());
  if (const std::size_t at = name.find("--"); at != std::string::npos) name.replace(at, 2, "/");
  return name;
}

std::string download_command(const std::string& hub_id,
                             const std::optional<std::string>& revision) {
  return "hf download " + hub_id + (revision ? " --revision " + *revision : "");
}

std::string download_advice(const path& folder) {
  const path whole = std::filesystem::absolute(folder).lexically_normal();
  const path snapshot = whole.has_filename() ? whole : whole.parent_path();
  const path snapshots = snapshot.parent_path();
  const auto id = hub_id_of(snapshots.parent_path());
  if (snapshots.filename() != "snapshots" || !id) {
    return "download the folder again (hf download ID --local-dir " + folder.string() + ")";
  }
  const path ref = snapshots.parent_path() / "refs" / "main";
  const bool main = !std::filesystem::is_regular_file(ref) || commit_in(ref) == snapshot.filename();
  return download_command(*id, main ? std::nullopt : std::optional(snapshot.filename().string()));
}

}  // namespace sluice::planner
