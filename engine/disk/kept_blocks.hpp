// Blocks that the disk refused to write, kept in memory until the run has ended its step and was
// saved.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/units.hpp"

namespace sluice::engine {

/// Copies in memory of blocks that the disk refused to write, so that no data are lost and the
/// current step can end. All functions may be called from any thread.
class KeptBlocks {
 public:
  /// Keeps a copy of `bytes`, the contents of block number `block` of the disk file; `what` says
  /// why the disk does not hold them. Returns false if there is no memory for the copy.
  [[nodiscard]] bool keep(std::int64_t block, std::span<const std::byte> bytes,
                          const std::string& what);
  /// Replaces the contents of block number `block` by `bytes` if the block is kept here; does
  /// nothing for other blocks.
  void update(std::int64_t block, std::span<const std::byte> bytes);
  /// Copies block number `block` to `out` if it is kept here; returns false if it is not.
  [[nodiscard]] bool copy_to(std::int64_t block, std::span<std::byte> out) const;

  /// Why the disk refused the first block that was kept, in one line; none while no block is kept.
  [[nodiscard]] std::optional<std::string> reason() const;

 private:
  [[nodiscard]] bool empty() const { return !any_.load(std::memory_order_acquire); }

  std::atomic<bool> any_{false};
  mutable std::mutex mutex_;
  std::map<std::int64_t, std::vector<std::byte>> blocks_;
  /// Number of bytes left for more copies: at first half of the memory that is free when the first
  /// block is kept.
  Bytes room_{0};
  std::string reason_;
};

}  // namespace sluice::engine
