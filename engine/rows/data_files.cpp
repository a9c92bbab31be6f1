#include "engine/rows/data_files.hpp"

#include <glob.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>
#include <system_error>
#include <utility>

#include "engine/rows/arrow_stream.hpp"
#include "engine/rows/file_pattern.hpp"
#include "engine/rows/folder_files.hpp"
#include "engine/rows/split_names.hpp"
#include "planner/catalogue/hugging_face_cache.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using std::filesystem::path;

/// Refuses files that are numbered shards of which one is missing.
void require_all_shards(const std::vector<path>& files) {
  std::map<std::string, std::set<long>> found;
  std::map<std::string, long> counts;
  for (const path& file : files) {
    const auto shard = shard_of(file.string());
    if (!shard) continue;
    const std::string kind = shard->label + "-%-of-" + shard->count + shard->rest;
    found[kind].insert(std::stol(shard->number));
    counts[kind] = std::stol(shard->count);
  }
  for (const auto& [kind, count] : counts) {
    for (long shard = 0; shard < count; ++shard) {
      if (found[kind].contains(shard)) continue;
      std::string number = std::to_string(shard);
      number.insert(0, 5 - std::min<std::size_t>(5, number.size()), '0');
      std::string name = kind;
      name.replace(name.find("-%-of-") + 1, 1, number);
      throw BadRequest("data: the shard " + name + " is missing: fetch it");
    }
  }
}

/// The files in their order, without packed twins, all shards there and (rows) of one form.
DataFiles in_order(std::vector<path> files, const path& data, DataNames names) {
  std::ranges::sort(
      files, [](const path& a, const path& b) { return comes_before(a.string(), b.string()); });
  require_all_shards(files);
  leave_out_packed_twins(files, data.string());
  DataFiles out{.files = std::move(files)};
  if (names == DataNames::token_ids) return out;
  out.form = file_form(out.files.front());
  for (const path& file : std::span(out.files).subspan(1)) {
    const FileForm form = file_form(file);
    if (form == out.form) continue;
    throw BadRequest("data: " + out.files.front().string() + " is " + to_string(out.form) +
                     " and " + file.string() + " is " + to_string(form) +
                     ": name files of one form, by a glob");
  }
  if (out.form == FileForm::arrow) warn_of_cut_streams(out.files);
  return out;
}

/// Whether a split is what files that are named one by one are read as.
bool is_all(const std::optional<std::string>& split) {
  return !split || *split == "train" || *split == "all";
}

/// Removes the files whose names mark another part than the one that is asked for. What is named
/// itself is of the split train.
void keep_part(std::vector<path>& files, const path& data, const DataPart& part) {
  if (part.subset && *part.subset != "default") {
    std::erase_if(files, [&](const path& each) { return !has_word(each.string(), *part.subset); });
    if (files.empty()) {
      throw BadRequest("data: " + data.string() + " is read as it is named, and no name in it is " +
                       *part.subset + ": leave subset out, or name a folder that has subsets");
    }
  }
  if (is_all(part.split)) return;
  std::erase_if(files, [&](const path& each) { return !marks_split(each, *part.split); });
  if (!files.empty()) return;
  throw BadRequest("data: " + data.string() +
                   " is read as it is named, and no name in it marks the " + "split " +
                   *part.split + ": leave split out, or name a folder that has splits" +
                   advice_on_slices(*part.split));
}

/// Regular files that a glob matches.
std::vector<path> matches_of_glob(const path& pattern) {
  if (std::ranges::find(pattern, "**") != pattern.end()) return matching_files(pattern);
  glob_t matches{};
  const int said = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &matches);
  std::vector<path> files;
  for (std::size_t i = 0; said == 0 && i < matches.gl_pathc; ++i) {
    if (std::filesystem::is_regular_file(matches.gl_pathv[i])) {
      files.emplace_back(matches.gl_pathv[i]);
    }
  }
  ::globfree(&matches);
  return files;
}

std::optional<DataFiles> of_glob(const path& pattern, const DataPart& part, DataNames names) {
  if (!is_pattern(pattern)) return std::nullopt;
  std::vector<path> files = matches_of_glob(pattern);
  if (names == DataNames::token_ids) {
    std::erase_if(files, [](const path& each) { return each.string().ends_with(".mask.npy"); });
  }
  if (files.empty()) throw BadRequest("data: no file matches " + pattern.string());
  keep_part(files, pattern, part);
  return in_order(std::move(files), pattern, names);
}

/// Refuses a path that the system cannot follow, such as a circle of links; one that leads nowhere
/// may be a name.
void require_passable(const path& data) {
  std::error_code fault;
  const std::filesystem::file_status status = std::filesystem::status(data, fault);
  if (!fault || status.type() == std::filesystem::file_type::not_found) return;
  throw BadRequest("data: cannot read " + data.string() + ": " + fault.message());
}

std::string first_word_of(const path& file) {
  std::FILE* opened = std::fopen(file.c_str(), "r");
  if (opened == nullptr) return {};
  std::array<char, 128> text{};
  const std::size_t got = std::fread(text.data(), 1, text.size(), opened);
  std::fclose(opened);
  const std::string all(text.data(), got);
  return all.substr(0, all.find_first_of(" \t\r\n"));
}

}  // namespace

bool comes_before(const std::string& a, const std::string& b) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto number_at = [&](const std::string& text, std::size_t at) {
    const std::size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
    const std::size_t first = std::min(text.find_first_not_of('0', at), end);
    return std::pair(text.substr(first, end - first), end);
  };
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (digit(a[i]) && digit(b[j])) {
      const auto [one, one_end] = number_at(a, i);
      const auto [other, other_end] = number_at(b, j);
      if (one.size() != other.size()) return one.size() < other.size();
      if (one != other) return one < other;
      i = one_end;
      j = other_end;
      continue;
    }
    if (a[i] != b[j]) return a[i] < b[j];
    ++i;
    ++j;
  }
  if (i < a.size() || j < b.size()) return i == a.size();
  return a < b;  // Equal but for leading zeros.
}

std::optional<path> cached_data_set(const std::string& hub_id) {
  const std::size_t slash = hub_id.find('/');
  const bool is_id = slash != std::string::npos && slash > 0 && slash + 1 < hub_id.size() &&
                     hub_id.find('/', slash + 1) == std::string::npos && hub_id[0] != '.';
  const auto cache = planner::hub_folder();
  if (!is_id || !cache) return std::nullopt;
  const path folder =
      *cache / ("datasets--" + hub_id.substr(0, slash) + "--" + hub_id.substr(slash + 1));
  if (!std::filesystem::is_directory(folder / "snapshots")) return std::nullopt;
  const path ref = folder / "refs" / "main";
  if (std::filesystem::is_regular_file(ref)) {
    const path snapshot = folder / "snapshots" / first_word_of(ref);
    if (std::filesystem::is_directory(snapshot)) return snapshot;
    throw BadRequest("data: " + ref.string() + " names a snapshot that is not there: hf download " +
                     hub_id + " --repo-type dataset");
  }
  std::vector<path> snapshots;
  for (const auto& each : std::filesystem::directory_iterator(folder / "snapshots")) {
    snapshots.push_back(each.path());
  }
  if (snapshots.size() == 1) return snapshots.front();
  throw BadRequest("data: " + folder.string() + " holds " + std::to_string(snapshots.size()) +
                   " snapshots and no refs/main: name a snapshot's folder");
}

std::optional<DataFiles> find_data_files(const path& data, const DataPart& part, DataNames names) {
  require_passable(data);
  if (std::filesystem::is_directory(data)) {
    return in_order(files_in_folder(data, part, names), data, names);
  }
  if (std::filesystem::exists(data) || std::filesystem::is_symlink(data)) {
    std::vector<path> files = {data};
    keep_part(files, data, part);
    const FileForm form = names == DataNames::rows ? file_form(data) : FileForm::text;
    if (form == FileForm::arrow) warn_of_cut_streams(files);
    return DataFiles{.files = files, .form = form};
  }
  if (auto found = of_glob(data, part, names)) return found;
  if (const auto snapshot = cached_data_set(data.string())) {
    return in_order(files_in_folder(*snapshot, part, names), data, names);
  }
  return std::nullopt;
}

}  // namespace sluice::engine
