// Cells and columns of kernel tables; internal to planner/kernels.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/kernels/csv.hpp"
#include "planner/kernels/kernel_model.hpp"

namespace sluice::planner {

/// All of `text` as a finite number; none where it is not one.
[[nodiscard]] std::optional<double> cell_number(const std::string& text);

/// Columns of a table by name. Keeps references: file and line must outlive it.
class KernelHeader {
 public:
  KernelHeader(const std::string& file, const CsvLine& line) : file_(file), line_(line) {}

  /// Index of the column `name`; none where it is absent. Throws BadRequest where two columns have
  /// that name or another name for the same thing.
  [[nodiscard]] std::optional<std::size_t> find(const std::string& name) const;
  /// Index of the column `name`. Throws BadRequest with `fix` where it is absent.
  [[nodiscard]] std::size_t at(const std::string& name, const std::string& fix) const;
  /// Index of each size's cell in a row; none for an optional column that is absent.
  [[nodiscard]] std::vector<std::optional<std::size_t>> sizes(KernelKind kind) const;
  /// Throws BadRequest where `line` has more or fewer cells than the header.
  void check_cells(const CsvLine& line) const;
  /// Throws BadRequest: the columns `first` and `second` state the same thing twice.
  [[noreturn]] void refuse_doubled(const std::string& first, const std::string& second) const;

 private:
  const std::string& file_;
  const CsvLine& line_;
};

/// The sizes of a row, read from the cells at `places`. Throws BadRequest naming the column.
[[nodiscard]] KernelShape read_shape(const std::string& file, const CsvLine& line, KernelKind kind,
                                     const std::vector<std::optional<std::size_t>>& places);

[[noreturn]] void refuse_cell(const std::string& file, const CsvLine& line,
                              const std::string& column, const std::string& text,
                              const std::string& fix);

}  // namespace sluice::planner
