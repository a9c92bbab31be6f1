// What the names of files say of splits and subsets.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::engine {

/// Whether `word` stands in `text` as a word: neither side goes on with a letter where the word
/// ends in one, nor with a digit where it ends in one. "en" is a word of "en_x" and of "data/en",
/// none of "french".
[[nodiscard]] bool has_word(std::string_view text, std::string_view word);

/// Whether the name of a file, or of a folder of its path, marks it as part of `split`.
[[nodiscard]] bool marks_split(const std::filesystem::path& file, const std::string& split);

/// What a refusal of `split` adds where it is a slice, "train[:100]"; empty where it is none.
[[nodiscard]] std::string advice_on_slices(const std::string& split);

[[nodiscard]] std::string in_lower_case(std::string text);

/// Parts of a shard's name, LABEL-NUMBER-of-COUNT and the rest: "train-00000-of-00004.parquet".
struct Shard {
  std::string label, number, count, rest;
};
[[nodiscard]] std::optional<Shard> shard_of(const std::string& name);
/// Label of a shard: the part of its name before its number, such as "train_sft"; none for other
/// files.
[[nodiscard]] std::optional<std::string> shard_label(const std::filesystem::path& file);

/// Files of one split, and files that may be of it but were left out.
struct SplitFiles {
  std::vector<std::filesystem::path> files;
  /// Files without a mark that stand beside marked ones.
  std::vector<std::filesystem::path> unread = {};
};

/// The files of the split among those of `folder`: those that its name marks, else those that no
/// other split's name marks.
[[nodiscard]] SplitFiles files_of_split(const std::vector<std::filesystem::path>& files,
                                        const std::filesystem::path& folder,
                                        const std::string& split);

}  // namespace sluice::engine
