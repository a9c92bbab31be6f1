// Tables of measured kernels (CSV, plain or gzip), and the split of their rows into trained and
// tested.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/kernels/fit.hpp"

namespace sluice::planner {

struct KernelRow {
  std::size_t line = 0;  ///< In the file, from 1.
  KernelShape shape;
  std::optional<Seconds> time;  ///< None where the table has no latency.
  bool modelled = true;         ///< bf16, and for attention a causal prefill from its first token.
};

struct KernelTable {
  std::string file;
  std::string device;  ///< Of the column `device`; empty where there is none.
  std::vector<KernelRow> rows;
};

enum class Latency { required, optional };

/// Reads `path`. The header names the columns, in any order; those unknown are left out. Shapes:
/// `kernel_columns`; also seq_len for isl, heads for num_heads, kv_heads for num_key_value_heads
/// (0: as many as heads), window for window_size. Times: latency or latency_ms in milliseconds,
/// latency_s or time_s in seconds. Rows of another type (gemm_dtype, attn_dtype, kv_cache_dtype) or
/// of a later `step` are kept and marked. Throws BadRequest naming file, line, column and the fix.
[[nodiscard]] KernelTable read_kernel_table(const std::string& path, KernelKind kind,
                                            Latency latency);

/// Which rows of `table` the split file names. Its lines are one of
///   a row number (0 is the first row under the header),
///   a shape ("512,4096,4096" in the order of `kernel_columns`, or under a header of their names),
///   train or test, one line a row of the table.
/// Blank lines and lines that begin with # are left out. Throws BadRequest naming file and line.
[[nodiscard]] std::vector<bool> read_split(const std::string& path, KernelKind kind,
                                           const KernelTable& table);

/// The modelled rows with a time, where `chosen` holds.
[[nodiscard]] std::vector<MeasuredKernel> measured_rows(const KernelTable& table,
                                                        const std::vector<bool>& chosen);

}  // namespace sluice::planner
