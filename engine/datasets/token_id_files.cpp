#include "engine/datasets/token_id_files.hpp"

#include <utility>

#include "engine/datasets/token_file.hpp"
#include "engine/model_files/written_file.hpp"
#include "planner/files/hash.hpp"
#include "planner/runs/data_file.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using std::filesystem::path;

/// Version of how ids become sequences: to be increased whenever equal files would give others.
constexpr std::int64_t kTokenIdsVersion = 1;

IntegerFile open_id_file(const path& file, IntegerType raw_type) {
  planner::require_data_file(file);
  if (!std::filesystem::is_regular_file(file)) {
    throw BadRequest("data: there is no file " + file.string() +
                     " (give the path of a .npy or .bin file of token ids)");
  }
  IntegerFile ids = open_token_file(file, raw_type, "data");
  if (!ids.holds_booleans()) return ids;
  throw BadRequest("data: " + file.string() +
                   ": holds booleans, as a mask does: give it as data_mask, and the ids as data");
}

IntegerFiles open_id_files(std::span<const TokenIdFiles> sets) {
  std::vector<IntegerFile> all;
  for (const TokenIdFiles& set : sets) {
    std::vector<path> files = {set.ids};
    files.insert(files.end(), set.further.begin(), set.further.end());
    std::int64_t rows = set.max_rows.value_or(0);
    for (const path& file : files) {
      IntegerFile ids = open_id_file(file, set.raw_type);
      if (set.max_rows) {
        if (!ids.has_rows()) {
          throw BadRequest("max_samples: counts rows, and " + file.string() +
                           " is one row of token ids: leave it out, or give a row for each");
        }
        ids.keep_rows(rows);
        rows -= ids.rows();
      }
      // Files behind the last row of a set are not read.
      if (!set.max_rows || ids.rows() > 0 || file == files.front()) all.push_back(std::move(ids));
    }
  }
  return IntegerFiles(std::move(all));
}

/// The mask of one file of ids: `given`, else the one beside it, if there is one.
std::optional<IntegerFile> open_mask(const std::optional<path>& given, const IntegerFile& ids) {
  path file = ids.path();
  file.replace_extension(".mask.npy");
  if (given) {
    file = *given;
    if (!std::filesystem::is_regular_file(file)) {
      throw BadRequest("data_mask: there is no file " + file.string());
    }
  } else if (!std::filesystem::is_regular_file(file)) {
    return std::nullopt;
  }
  IntegerFile mask = open_token_file(file, IntegerType::uint8, "data_mask");
  const auto shape = [](const IntegerFile& of, std::int64_t rows) {
    return of.has_rows() ? std::to_string(rows) + " x " + std::to_string(of.columns())
                         : std::to_string(of.columns());
  };
  if (mask.all_rows() != ids.all_rows() || mask.columns() != ids.columns()) {
    throw BadRequest("data_mask: " + file.string() + " has " + shape(mask, mask.all_rows()) +
                     " values, and " + ids.path().string() + " " + shape(ids, ids.all_rows()) +
                     ": give one for each token id");
  }
  mask.keep_rows(ids.rows());
  return mask;
}

std::optional<IntegerFiles> open_masks(std::span<const TokenIdFiles> sets,
                                       const IntegerFiles& ids) {
  const std::optional<path>& given = sets.front().mask;
  if (given && ids.files().size() > 1) {
    throw BadRequest("data_mask: is the mask of one file, and the data are " + ids.names() +
                     ": put X.mask.npy beside each X.npy, and leave data_mask out");
  }
  std::vector<IntegerFile> masks;
  const IntegerFile* without = nullptr;
  for (const IntegerFile& file : ids.files()) {
    if (auto mask = open_mask(given, file)) {
      masks.push_back(std::move(*mask));
    } else {
      without = &file;
    }
  }
  if (masks.empty()) return std::nullopt;
  if (without == nullptr) return IntegerFiles(std::move(masks));
  throw BadRequest("data_mask: " + masks.front().path().string() + " is a mask, and " +
                   without->path().string() + " has none beside it: give every file one, or none");
}

}  // namespace

std::string TokenIdData::hash(planner::Packing packing) const {
  planner::CanonicalText text("sluice/token-ids");
  text.add("version", kTokenIdsVersion);
  for (std::size_t i = 0; i < ids.files().size(); ++i) {
    const IntegerFile& file = ids.files()[i];
    text.add("ids", read_record(file.path()).sha256)
        .add("type", file.layout())
        .add("mask", mask ? read_record(mask->files()[i].path()).sha256 : "");
    if (file.rows() < file.all_rows()) text.add("rows", file.rows());
  }
  return text.add("packing", planner::to_string(packing)).hash();
}

TokenIdData open_token_ids(std::span<const TokenIdFiles> sets) {
  IntegerFiles ids = open_id_files(sets);
  std::optional<IntegerFiles> masks = open_masks(sets, ids);
  return {.ids = std::move(ids), .mask = std::move(masks)};
}

}  // namespace sluice::engine
