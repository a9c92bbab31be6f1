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

/// Copies of blocks whose write failed, so that no data are lost and the current step can end. All
/// functions may be called from any thread.
class KeptBlocks {
 public:
  /// Keeps a copy of `bytes`, the contents of block number `block`; `what` says why the disk does
  /// not hold them. Returns false if there is no memory for the copy.
  [[nodiscard]] bool keep(std::int64_t block, std::span<const std::byte> bytes,
                          const std::string& what);
  /// Replaces the copy of a kept block; does nothing for blocks that are not kept.
  void update(std::int64_t block, std::span<const std::byte> bytes);
  /// Copies a kept block to `out`; returns false if the block is not kept.
  [[nodiscard]] bool copy_to(std::int64_t block, std::span<std::byte> out) const;

  /// Why the disk refused the first block that was kept, in one line; none while no block is kept.
  [[nodiscard]] std::optional<std::string> reason() const;

 private:
  [[nodiscard]] bool empty() const { return !any_.load(std::memory_order_acquire); }

  std::atomic<bool> any_{false};
  mutable std::mutex mutex_;
  std::map<std::int64_t, std::vector<std::byte>> blocks_;
  Bytes room_{0};  ///< Memory left for more copies; determined when the first block is kept.
  std::string reason_;
};

}  // namespace sluice::engine
