#include "engine/rows/data_files.hpp"

#include <glob.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <regex>
#include <set>
#include <span>
#include <utility>

#include "planner/catalogue/hugging_face_cache.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using std::filesystem::path;

/// JSON files that describe a data set and hold none of its rows.
constexpr std::array<std::string_view, 6> kDescriptions = {
    "dataset_info.json", "dataset_infos.json", "state.json",
    "dataset_dict.json", "config.json",        "tokenizer.json"};
constexpr std::array<std::string_view, 8> kHeldOut = {
    "test", "valid", "validation", "val", "dev", "testing", "eval", "evaluation"};

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// Words of a file's name and of its folders within `folder`: what is between other letters.
std::set<std::string> words_of(const path& file, const path& folder) {
  std::set<std::string> words;
  std::string word;
  for (const char letter : lower(file.lexically_relative(folder).string()) + "/") {
    if (std::isalpha(static_cast<unsigned char>(letter)) != 0) {
      word += letter;
    } else if (!word.empty()) {
      words.insert(std::exchange(word, {}));
    }
  }
  return words;
}

bool is_held_out(const std::set<std::string>& words) {
  return std::ranges::any_of(
      kHeldOut, [&](std::string_view each) { return words.contains(std::string(each)); });
}

/// Parts of a shard's name, LABEL-NUMBER-of-COUNT and the rest: "train-00000-of-00004.parquet".
struct Shard {
  std::string label, number, count, rest;
};

std::optional<Shard> shard_of(const std::string& name) {
  static const std::regex kShard("(.*)-([0-9]{5})-of-([0-9]{5})(.*)");
  std::smatch parts;
  if (!std::regex_match(name, parts, kShard)) return std::nullopt;
  return Shard{parts[1].str(), parts[2].str(), parts[3].str(), parts[4].str()};
}

/// Label of a shard: the part of its name before its number, such as "train_sft"; none for other
/// files.
std::optional<std::string> shard_label(const path& file) {
  const auto shard = shard_of(file.filename().string());
  return shard ? std::optional(shard->label) : std::nullopt;
}

std::vector<path> data_files_in(const path& folder) {
  std::vector<path> found;
  using Walk = std::filesystem::recursive_directory_iterator;
  for (auto each = Walk(folder); each != Walk(); ++each) {
    const std::string name = each->path().filename().string();
    if (name.starts_with('.')) {
      if (each->is_directory()) each.disable_recursion_pending();
      continue;
    }
    const bool description = std::ranges::find(kDescriptions, name) != kDescriptions.end();
    if (each->is_directory() || description || !named_as_data(each->path())) continue;
    found.push_back(each->path());
  }
  return found;
}

/// The files of the split: those that its name marks, else those that no other split's name marks.
std::vector<path> of_split(const std::vector<path>& files, const path& folder,
                           const std::string& split) {
  std::vector<path> marked, unmarked, labelled;
  std::ranges::copy_if(files, std::back_inserter(labelled),
                       [&](const path& file) { return shard_label(file) == split; });
  if (!labelled.empty()) return labelled;
  for (const path& file : files) {
    const std::set<std::string> words = words_of(file, folder);
    const bool of_validation =
        split == "validation" &&
        (words.contains("val") || words.contains("valid") || words.contains("dev"));
    if (words.contains(lower(split)) || of_validation) {
      marked.push_back(file);
    } else if (!is_held_out(words) && !words.contains("train")) {
      unmarked.push_back(file);
    }
  }
  return marked.empty() && split == "train" ? unmarked : marked;
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
      const std::string name = lower(each.string());
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

DataFiles of_one_form(std::vector<path> files) {
  std::ranges::sort(
      files, [](const path& a, const path& b) { return comes_before(a.string(), b.string()); });
  require_all_shards(files);
  DataFiles out{.files = std::move(files)};
  out.form = file_form(out.files.front());
  for (const path& file : std::span(out.files).subspan(1)) {
    const FileForm form = file_form(file);
    if (form == out.form) continue;
    throw BadRequest("data: " + out.files.front().string() + " is " + to_string(out.form) +
                     " and " + file.string() + " is " + to_string(form) +
                     ": name files of one form, by a glob");
  }
  return out;
}

DataFiles in_folder(const path& folder, const DataPart& part) {
  const path inside = part.subset ? folder / *part.subset : folder;
  // A subset of the hub may be a word of the files' names instead of a folder.
  const bool named = part.subset && !std::filesystem::is_directory(inside);
  const path& walked = named ? folder : inside;
  std::vector<path> all = data_files_in(walked);
  if (named) {
    std::erase_if(all, [&](const path& file) {
      return file.lexically_relative(folder).string().find(*part.subset) == std::string::npos;
    });
  }
  if (all.empty()) {
    throw BadRequest("data: " + walked.string() +
                     " holds no data file (.jsonl, .json, .csv, .tsv, .parquet, .arrow, .txt)" +
                     (named ? " of the subset " + *part.subset : std::string()));
  }
  const std::string split = part.split.value_or("train");
  std::vector<path> files = of_split(all, walked, split);
  if (files.empty()) {
    throw BadRequest("data: " + walked.string() + " holds no file of the split " + split + " (" +
                     all.front().lexically_relative(walked).string() + " is of another): name one");
  }
  require_one_subset(files, walked);
  require_one_label(files, walked);
  return of_one_form(std::move(files));
}

std::optional<DataFiles> of_glob(const path& pattern) {
  if (pattern.string().find_first_of("*?[") == std::string::npos) return std::nullopt;
  glob_t matches{};
  const int said = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &matches);
  std::vector<path> files;
  for (std::size_t i = 0; said == 0 && i < matches.gl_pathc; ++i) {
    if (std::filesystem::is_regular_file(matches.gl_pathv[i])) {
      files.emplace_back(matches.gl_pathv[i]);
    }
  }
  ::globfree(&matches);
  if (files.empty()) throw BadRequest("data: no file matches " + pattern.string());
  return of_one_form(std::move(files));
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

std::optional<DataFiles> find_data_files(const path& data, const DataPart& part) {
  if (std::filesystem::is_directory(data)) return in_folder(data, part);
  if (std::filesystem::exists(data) || std::filesystem::is_symlink(data)) {
    return DataFiles{.files = {data}, .form = file_form(data)};
  }
  if (auto found = of_glob(data)) return found;
  if (const auto snapshot = cached_data_set(data.string())) return in_folder(*snapshot, part);
  return std::nullopt;
}

}  // namespace sluice::engine
