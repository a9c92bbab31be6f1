// Files of token ids, with the masks that say which are learnt.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/datasets/integer_files.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::engine {

/// The files of one data set of token ids.
struct TokenIdFiles {
  std::filesystem::path ids;
  /// File of the mask. Without one, NAME.mask.npy beside an `ids` of NAME.npy or NAME.bin is the
  /// mask, if it exists.
  std::optional<std::filesystem::path> mask = std::nullopt;
  IntegerType raw_type = IntegerType::uint16;  ///< Type of the ids in a file that is no .npy.
  /// Files that follow `ids`: the shards of one data set, in order.
  std::vector<std::filesystem::path> further = {};
  /// Largest number of rows that are read of all these files, from the first on.
  std::optional<std::int64_t> max_rows = std::nullopt;
};

/// Token ids and their mask, opened: one after another as if they were one file.
struct TokenIdData {
  IntegerFiles ids;
  std::optional<IntegerFiles> mask;  ///< None where every token is learnt.

  /// Calls `visit(first, ids, learnt)` for all values in order, part by part and no part of two
  /// files: `first` is the number of the part's first value, `learnt` its mask.
  template <class Visit>
  void for_each_part(const Visit& visit) const;
  /// SHA-256 of the files' bytes, of how they are read, and of how their rows are packed.
  [[nodiscard]] std::string hash(planner::Packing packing) const;
};

/// Opens the files of all data sets. Throws BadRequest where a file is missing or is no list of
/// integers, where the shapes of ids and mask differ, or where some files have a mask and others
/// have none.
[[nodiscard]] TokenIdData open_token_ids(std::span<const TokenIdFiles> sets);

/// Number of values that are read at a time.
inline constexpr std::int64_t kTokenIdsAtOnce = std::int64_t{1} << 16;

template <class Visit>
void TokenIdData::for_each_part(const Visit& visit) const {
  std::vector<std::int64_t> values(kTokenIdsAtOnce), learnt(kTokenIdsAtOnce, 1);
  for (std::size_t file = 0; file < ids.files().size(); ++file) {
    const std::int64_t end = ids.start(file + 1);
    for (std::int64_t first = ids.start(file); first < end; first += kTokenIdsAtOnce) {
      const auto count = static_cast<std::size_t>(std::min(kTokenIdsAtOnce, end - first));
      const std::span values_here = std::span(values).first(count);
      const std::span learnt_here = std::span(learnt).first(count);
      ids.read(first, values_here);
      if (mask) mask->read(first, learnt_here);
      visit(first, std::span<const std::int64_t>(values_here),
            std::span<const std::int64_t>(learnt_here));
    }
  }
}

}  // namespace sluice::engine
