// The files that a name of data stands for.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/rows/file_form.hpp"

namespace sluice::engine {

/// Files of one data set in the order in which they are read, all of one form.
struct DataFiles {
  std::vector<std::filesystem::path> files;
  FileForm form = FileForm::text;
};

/// Part of a folder, or of a data set of the Hugging Face hub, that is read.
struct DataPart {
  std::optional<std::string> split = {};  ///< Name of the split; none stands for "train".
  /// Name of the subset: one that the data set's README.md states, a folder within the data set, or
  /// a word of its files' names.
  std::optional<std::string> subset = {};
};

/// Choice of the files of a folder that are data: files of rows (.jsonl, .csv, ...) or of token ids
/// (.npy, .bin).
enum class DataNames { rows, token_ids };

/// The files of `data`: a file; a folder's data files (those that its README.md states, as the hub
/// reads it, else those of the split, where names tell splits apart; shards in the order of their
/// numbers; of a file and its packed twin the file); a glob, where `**` stands for any number of
/// folders; or a data set's id in the local cache of the hub. None if it is nothing of these. Warns
/// of files that are left out and might be meant. Throws BadRequest if there is no data file, if a
/// shard of "-00000-of-00004" is missing, if files are of several forms, if several subsets could
/// be meant, or if a file or glob has nothing of `part`.
[[nodiscard]] std::optional<DataFiles> find_data_files(const std::filesystem::path& data,
                                                       const DataPart& part = {},
                                                       DataNames names = DataNames::rows);

/// Snapshot folder of a data set in the hub's cache: the one that refs/main names. None if the
/// cache does not have the data set.
[[nodiscard]] std::optional<std::filesystem::path> cached_data_set(const std::string& hub_id);

/// Whether `a` comes before `b` with runs of digits compared as numbers.
[[nodiscard]] bool comes_before(const std::string& a, const std::string& b);

}  // namespace sluice::engine
