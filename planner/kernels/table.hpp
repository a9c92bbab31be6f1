// Tables of measured kernels (CSV, plain or gzip), and files that split their rows into train and
// test.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/kernels/fit.hpp"

namespace sluice::planner {

struct KernelRow {
  std::size_t line = 0;  ///< Number of the row's line in the file of the table, from 1.
  KernelShape shape;
  /// Measured time of the kernel; none where the table has no column for it.
  std::optional<Seconds> time;
  /// Whether the model covers this row: bf16, and for attention a causal prefill from its first
  /// token.
  bool modelled = true;
};

struct KernelTable {
  std::string file;
  /// Device that the column `device` names; empty where there is no such column.
  std::string device;
  std::vector<KernelRow> rows;
};

enum class Latency { required, optional };

/// Reads the table of `kind` at `path`. The header names the columns, in any order; unknown ones
/// are ignored. Shapes: `kernel_columns`; also seq_len for isl, heads for num_heads, kv_heads for
/// num_key_value_heads (0 for as many as heads), window for window_size. Times: latency or
/// latency_ms in milliseconds, latency_s or time_s in seconds. Rows of another type (gemm_dtype,
/// attn_dtype, kv_cache_dtype) or of a later `step` are kept with `modelled` false. Throws
/// BadRequest naming file, line, column and the fix.
[[nodiscard]] KernelTable read_kernel_table(const std::string& path, KernelKind kind,
                                            Latency latency);

/// Reads which rows of `table` a split file chooses. Each of its lines is one of
///
///   a row number (0 is the first row under the header),
///   a shape ("512,4096,4096" in the order of `kernel_columns`, or under a header of their names),
///   train or test, one line a row of the table.
///
/// Blank lines and lines that begin with # are ignored. Throws BadRequest naming file and line.
[[nodiscard]] std::vector<bool> read_split(const std::string& path, KernelKind kind,
                                           const KernelTable& table);

/// The rows of `table` that are modelled, have a time and are true in `chosen`, which has an
/// element a row.
[[nodiscard]] std::vector<MeasuredKernel> measured_rows(const KernelTable& table,
                                                        const std::vector<bool>& chosen);

}  // namespace sluice::planner
