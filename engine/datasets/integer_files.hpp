// Several files of integers, read as one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/datasets/integer_file.hpp"

namespace sluice::engine {

/// Files of integers that follow one another: values are numbered through all of them. Either each
/// file is a single row, or each has rows; rows of two files may differ in length.
class IntegerFiles {
 public:
  /// Takes at least one file. Throws BadRequest naming two of them where one has rows and the other
  /// is a single row.
  explicit IntegerFiles(std::vector<IntegerFile> files);

  [[nodiscard]] const std::vector<IntegerFile>& files() const { return files_; }
  [[nodiscard]] bool has_rows() const { return files_.front().has_rows(); }
  [[nodiscard]] std::int64_t count() const { return starts_.back(); }
  /// Number of the first value of a file, which is given by its index.
  [[nodiscard]] std::int64_t start(std::size_t file) const { return starts_[file]; }

  /// Reads values number `first` to first + into.size() - 1. Does not allocate.
  void read(std::int64_t first, std::span<std::int64_t> into) const;
  /// Place of value number `index` in its file, as IntegerFile::place().
  [[nodiscard]] std::string place(std::int64_t index) const;
  /// Paths of the files for messages: "a.npy", or "a.npy and 3 more files".
  [[nodiscard]] std::string names() const;

 private:
  [[nodiscard]] std::size_t file_of(std::int64_t index) const;

  std::vector<IntegerFile> files_;
  /// Number of the first value of each file, and that of all values at the end.
  std::vector<std::int64_t> starts_;
};

}  // namespace sluice::engine
