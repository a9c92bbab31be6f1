#include "engine/rows/folder_files.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "engine/rows/dataset_card.hpp"
#include "engine/rows/file_form.hpp"
#include "engine/rows/file_pattern.hpp"
#include "engine/rows/split_names.hpp"
#include "sim/error.hpp"
#include "sim/warning.hpp"

namespace sluice::engine {
namespace {

using std::filesystem::path;

/// JSON files that describe a data set and hold none of its rows.
constexpr std::array<std::string_view, 6> kDescriptions = {
    "dataset_info.json", "dataset_infos.json", "state.json",
    "dataset_dict.json", "config.json",        "tokenizer.json"};

/// Whether a file's name is one of token ids; that of a mask beside them is not.
bool named_as_ids(const path& file) {
  const std::string name = file.filename().string();
  return name.ends_with(".bin") || (name.ends_with(".npy") && !name.ends_with(".mask.npy"));
}

std::vector<path> data_files_in(const path& folder, DataNames names) {
  std::vector<path> found;
  using Walk = std::filesystem::recursive_directory_iterator;
  for (auto each = Walk(folder); each != Walk(); ++each) {
    const std::string name = each->path().filename().string();
    if (name.starts_with('.')) {
      if (each->is_directory()) each.disable_recursion_pending();
      continue;
    }
    const bool description = std::ranges::find(kDescriptions, name) != kDescriptions.end();
    if (each->is_directory() || description) continue;
    const bool named =
        names == DataNames::rows ? named_as_data(each->path()) : named_as_ids(each->path());
    if (named) found.push_back(each->path());
  }
  return found;
}

/// Names in a list: "a, b and 3 more".
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMostListed = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMostListed); ++i) {
    text.append(i == 0 ? "" : ", ").append(names[i]);
  }
  if (names.size() <= kMostListed) return text;
  return text + " and " + std::to_string(names.size() - kMostListed) + " more";
}

/// Names of files without their folders, in order.
std::vector<std::string> names_of(const std::vector<path>& files) {
  std::vector<std::string> names;
  names.reserve(files.size());
  for (const path& file : files) names.push_back(file.filename().string());
  std::ranges::sort(names, comes_before);
  return names;
}

/// Refuses shards of several splits, such as train_sft and train_gen.
void require_one_label(const std::vector<path>& files, const path& folder) {
  std::set<std::string> labels;
  for (const path& file : files) {
    if (const auto label = shard_label(file)) labels.insert(*label);
  }
  if (labels.size() < 2) return;
  std::string names;
  for (const std::string& each : labels) names.append(names.empty() ? "" : ", ").append(each);
  throw BadRequest("data: " + folder.string() + " holds shards of several splits (" + names +
                   "): name those of one by a glob, or its split in a dataset_info.json");
}

/// Refuses a folder of which several subsets might be meant, one in each of several folders.
void require_one_subset(const std::vector<path>& files, const path& folder) {
  std::set<std::string> subsets;
  for (const path& file : files) {
    std::string subset;
    for (const path& each : file.parent_path().lexically_relative(folder)) {
      const std::string name = in_lower_case(each.string());
      if (name == "." || name == "data" || name == "train") continue;
      subset += (subset.empty() ? "" : "/") + each.string();
    }
    subsets.insert(subset);
  }
  if (subsets.size() < 2) return;
  std::string names;
  for (const std::string& each : subsets) {
    names.append(names.empty() ? "" : ", ").append(each.empty() ? "files beside them" : each);
  }
  throw BadRequest("data: " + folder.string() + " holds several subsets (" + names +
                   "): name one folder, or a glob");
}

/// The files of `part` by the names of files and folders alone.
std::vector<path> files_by_name(const path& folder, const DataPart& part, DataNames names) {
  const path inside = part.subset ? folder / *part.subset : folder;
  // A subset of the hub may be a word of the files' names instead of a folder.
  const bool named = part.subset && !std::filesystem::is_directory(inside);
  const path& walked = named ? folder : inside;
  std::vector<path> all = data_files_in(walked, names);
  if (named) {
    std::erase_if(all, [&](const path& file) {
      return !has_word(file.lexically_relative(folder).string(), *part.subset);
    });
  }
  if (all.empty()) {
    throw BadRequest(
        "data: " + walked.string() +
        (names == DataNames::rows
             ? " holds no data file (.jsonl, .json, .csv, .tsv, .parquet, .arrow, .txt)"
             : " holds no file of token ids (.npy, .bin)") +
        (named ? " of the subset " + *part.subset : std::string()) +
        (names == DataNames::rows && !data_files_in(walked, DataNames::token_ids).empty()
             ? ", but files of token ids: say data_format=tokens"
             : ""));
  }
  const std::string split = part.split.value_or("train");
  SplitFiles found = files_of_split(all, walked, split);
  if (found.files.empty()) {
    throw BadRequest("data: " + walked.string() + " holds no file of the split " + split + " (" +
                     all.front().lexically_relative(walked).string() + " is of another): name one" +
                     advice_on_slices(split));
  }
  require_one_subset(found.files, walked);
  require_one_label(found.files, walked);
  if (!found.unread.empty()) {
    sim::warn("data: " + walked.string() + ": not read: " + listed(names_of(found.unread)) +
              ", beside files that their names mark as the split " + split + " (" +
              listed(names_of(found.files)) + "): name all of them by a glob, if they are meant");
  }
  return std::move(found.files);
}

std::vector<path> matches_of(const CardConfig& config, const std::vector<std::string>& patterns,
                             const path& folder) {
  const path base = config.data_dir ? folder / *config.data_dir : folder;
  std::set<path> files;
  for (const std::string& pattern : patterns) {
    for (path& file : matching_files((base / pattern).lexically_normal())) {
      files.insert(std::move(file));
    }
  }
  return {files.begin(), files.end()};
}

/// Whether any file of the subset is here; a download may hold some subsets only.
bool is_here(const CardConfig& config, const path& folder) {
  if (config.splits.empty()) {
    return !config.data_dir || std::filesystem::is_directory(folder / *config.data_dir);
  }
  return std::ranges::any_of(config.splits, [&](const auto& split) {
    return !matches_of(config, split.second, folder).empty();
  });
}

/// The subset of a card that `part` means; none where files' names decide.
std::optional<CardConfig> meant_config(std::vector<CardConfig> configs, const DataPart& part,
                                       const path& folder) {
  if (part.subset) {
    const auto named = std::ranges::find(configs, *part.subset, &CardConfig::name);
    return named == configs.end() ? std::nullopt : std::optional(*named);
  }
  std::erase_if(configs, [&](const CardConfig& each) { return !is_here(each, folder); });
  if (configs.empty()) return std::nullopt;
  if (configs.size() == 1) return configs.front();
  const auto usual = std::ranges::find(configs, true, &CardConfig::is_default);
  if (usual != configs.end()) return *usual;
  std::vector<std::string> names;
  names.reserve(configs.size());
  for (const CardConfig& each : configs) names.push_back(each.name);
  throw BadRequest("data: " + (folder / "README.md").string() + " states several subsets (" +
                   listed(names) + "): name one, as in data={path: ..., subset: " + names.front() +
                   "}");
}

/// The patterns of the split that `part` means, by default the one that is trained by its name.
const std::vector<std::string>& patterns_of(const CardConfig& config, const DataPart& part,
                                            const path& folder) {
  const std::string wanted = part.split.value_or("train");
  std::vector<std::string> names;
  std::vector<path> as_files;
  for (const auto& [split, patterns] : config.splits) {
    if (split == wanted) return patterns;
    names.push_back(split);
    as_files.push_back(folder / split);
  }
  const std::vector<path> trained = files_of_split(as_files, folder, "train").files;
  if (!part.split && trained.size() == 1) {
    const auto only = std::ranges::find(as_files, trained.front()) - as_files.begin();
    return config.splits[static_cast<std::size_t>(only)].second;
  }
  throw BadRequest("data: " + (folder / "README.md").string() + " states no split " + wanted +
                   " of the subset " + config.name + " (it has " + listed(names) +
                   "): name one of them as split" + advice_on_slices(wanted));
}

std::vector<path> files_of_config(const CardConfig& config, const path& folder,
                                  const DataPart& part, DataNames names) {
  if (config.splits.empty()) {
    const path inside = config.data_dir ? folder / *config.data_dir : folder;
    return files_by_name(inside, {.split = part.split}, names);
  }
  const std::vector<std::string>& patterns = patterns_of(config, part, folder);
  std::vector<path> files = matches_of(config, patterns, folder);
  if (files.empty()) {
    throw BadRequest("data: " + (folder / "README.md").string() + " names " + listed(patterns) +
                     " as the files of the subset " + config.name +
                     ", and there is none: fetch them, or name files by a glob");
  }
  return files;
}

}  // namespace

std::vector<path> files_in_folder(const path& folder, const DataPart& part, DataNames names) {
  if (const auto config = meant_config(card_configs(folder), part, folder)) {
    return files_of_config(*config, folder, part, names);
  }
  return files_by_name(folder, part, names);
}

void leave_out_packed_twins(std::vector<path>& files, const std::string& data) {
  std::set<path> read(files.begin(), files.end());
  std::vector<path> twins;
  std::erase_if(files, [&](const path& file) {
    // The first of several files that pack one name is read, unless the unpacked file is there.
    if (!named_as_packed(file) || read.insert(path(file).replace_extension()).second) return false;
    twins.push_back(file);
    return true;
  });
  if (twins.empty()) return;
  sim::warn("data: " + data + ": not read: " + listed(names_of(twins)) +
            ", beside which stands the file that it packs, by its name");
}

}  // namespace sluice::engine
