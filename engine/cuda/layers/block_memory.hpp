// Device memory of one block: its activation record, and what its sequences keep for later tokens.
#pragma once

#include <cstddef>
#include <cstdint>

#include "planner/graph/record.hpp"

namespace sluice::engine {

/// Where the activation record of a block lies on the device; offsets within it are those of
/// planner::BlockRecord. The input is at `input`; of all else the first `kept` bytes of the record
/// are in place at `record`, those behind them from `full` on. Rows [q k v] of raw projections are
/// packed from q on up to k_rstd, rows [gate up] from gate on to the end.
struct CudaRecord {
  std::byte* input = nullptr;
  /// Address of the record's byte 0, even if the input, which begins there, is elsewhere.
  std::byte* record = nullptr;
  std::byte* full = nullptr;
  Bytes kept{0};
  /// The micro-batch's input tokens, int32 [T], negative where documents begin; null unless
  /// attention stays within documents.
  const std::int32_t* documents = nullptr;
  /// Number of the block, from 0, which decides the kind of its layer.
  std::int64_t layer = 0;
  /// Memory of the FP8 forms of the block's weights that stay from round to round; null where the
  /// plan keeps none.
  std::byte* forms = nullptr;
  /// Whether the pass is the block's first of a step, before which its weights may have changed.
  bool opens_step = false;
  [[nodiscard]] std::byte* at(Bytes offset) const {
    if (offset == Bytes(0)) return input;
    return offset < kept ? record + offset.count() : full + (offset - kept).count();
  }
};

/// Device memory of one block and sequence that later tokens need: keys and values, or the state of
/// a gated delta net (planner::kept_bytes).
struct CudaKeptKeys {
  /// Rotated keys, [seq_len, kv_heads * head_dim], then values, [seq_len, kv_heads * head of v].
  std::uint16_t* data;
  std::int64_t first;  ///< Number of the sequence's tokens whose keys and values are kept already.
  std::int64_t count;  ///< Number of tokens that this call adds, at least one.
};

}  // namespace sluice::engine
