// Files of integers: NumPy's .npy, or values one after another without a header.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "engine/model_files/mapped_file.hpp"

namespace sluice::engine {

/// Bytes of the header of llm.c's token files, before the ids.
inline constexpr std::int64_t kLlmCHeader = 1024;

enum class IntegerType { int8, uint8, int16, uint16, int32, uint32, int64, uint64 };
const char* to_string(IntegerType type);
[[nodiscard]] std::int64_t bytes_of(IntegerType type);

/// A memory-mapped file of little-endian integers of one type, in rows of equal length.
class IntegerFile {
 public:
  /// Opens a .npy file of one or two dimensions in C order, which holds integers or booleans (read
  /// as 0 and 1). Throws BadRequest naming the file, what it holds instead and how to write it.
  [[nodiscard]] static IntegerFile npy(const std::filesystem::path& path);
  /// Opens a file that holds nothing but values of `type` behind its first `header` bytes, as a
  /// single row. Throws BadRequest if its size is no multiple of theirs.
  [[nodiscard]] static IntegerFile raw(const std::filesystem::path& path, IntegerType type,
                                       std::int64_t header = 0);

  [[nodiscard]] const std::filesystem::path& path() const { return file_->path(); }
  [[nodiscard]] IntegerType type() const { return type_; }
  /// The file's layout in words: "npy", a type such as "uint16" where it holds nothing but values,
  /// or "llm.c uint16" where a header of llm.c precedes them.
  [[nodiscard]] const std::string& layout() const { return layout_; }
  /// Whether the values are booleans, read as 0 and 1.
  [[nodiscard]] bool holds_booleans() const { return holds_booleans_; }
  /// Whether the file has two dimensions, so that values lie in several rows; a file of one is a
  /// single row.
  [[nodiscard]] bool has_rows() const { return has_rows_; }
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  /// Number of rows in the file, of which keep_rows() may have left fewer to read.
  [[nodiscard]] std::int64_t all_rows() const { return all_rows_; }
  /// Leaves only the first `most` rows to read.
  void keep_rows(std::int64_t most) { rows_ = std::min(rows_, most); }
  [[nodiscard]] std::int64_t columns() const { return columns_; }
  [[nodiscard]] std::int64_t count() const { return rows_ * columns_; }

  /// Reads values number `first` to first + into.size() - 1, counted row by row. Values above the
  /// largest int64 are read as that.
  void read(std::int64_t first, std::span<std::int64_t> into) const;
  /// Place of value number `index` for messages: "FILE: row 3, column 5", or "FILE: token 17" for a
  /// file of one dimension; all counted from 0.
  [[nodiscard]] std::string place(std::int64_t index) const;

 private:
  IntegerFile(std::unique_ptr<MappedFile> file, IntegerType type);

  std::unique_ptr<MappedFile> file_;
  IntegerType type_;
  std::string layout_;
  bool holds_booleans_ = false;
  std::int64_t offset_ = 0;  ///< Byte of the file at which the values begin.
  bool has_rows_ = false;
  std::int64_t rows_ = 1, columns_ = 0, all_rows_ = 1;
};

}  // namespace sluice::engine
