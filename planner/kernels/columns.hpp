// Cells and columns of kernel tables; internal to planner/kernels.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/kernels/csv.hpp"
#include "planner/kernels/kernel_model.hpp"

namespace sluice::planner {

/// `text` as a finite number; none where it is not wholly one.
[[nodiscard]] std::optional<double> cell_number(const std::string& text);

/// Columns of a table by the names in its header. Keeps references to the file's name and the
/// header's line, which must outlive it.
class KernelHeader {
 public:
  KernelHeader(const std::string& file, const CsvLine& line) : file_(file), line_(line) {}

  /// Index of the column that `name` or another accepted name for the same thing heads; none where
  /// it is absent. Throws BadRequest where two columns do.
  [[nodiscard]] std::optional<std::size_t> find(const std::string& name) const;
  /// Index of the column that `name` heads. Throws BadRequest, which ends with `fix`, where it is
  /// absent.
  [[nodiscard]] std::size_t at(const std::string& name, const std::string& fix) const;
  /// For each size of a shape of `kind`, in the order of kernel_columns(), the index of its column;
  /// none for an optional column that is absent. Throws BadRequest for another absent one.
  [[nodiscard]] std::vector<std::optional<std::size_t>> sizes(KernelKind kind) const;
  /// Throws BadRequest unless `line` has as many cells as the header.
  void check_cells(const CsvLine& line) const;
  /// Throws BadRequest saying that the columns `first` and `second` state the same thing.
  [[noreturn]] void refuse_doubled(const std::string& first, const std::string& second) const;

 private:
  const std::string& file_;
  const CsvLine& line_;
};

/// Shape of the kernel in one row of a table; `places` are the columns of its sizes
/// (KernelHeader::sizes). Throws BadRequest naming file, line and column.
[[nodiscard]] KernelShape read_shape(const std::string& file, const CsvLine& line, KernelKind kind,
                                     const std::vector<std::optional<std::size_t>>& places);

[[noreturn]] void refuse_cell(const std::string& file, const CsvLine& line,
                              const std::string& column, const std::string& text,
                              const std::string& fix);

}  // namespace sluice::planner
