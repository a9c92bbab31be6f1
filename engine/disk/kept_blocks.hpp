// Blocks that a disk did not take, in memory until the run has ended its step and was saved.
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

/// A write that failed loses nothing: what should have been written is still there. It stays here,
/// so that the step which made it can end. All of it may be called from any thread.
class KeptBlocks {
 public:
  /// Keeps a copy of `bytes`, `what` being why the disk does not hold them; false where memory has
  /// no room for it.
  [[nodiscard]] bool keep(std::int64_t block, std::span<const std::byte> bytes,
                          const std::string& what);
  /// Replaces the copy of a block that is kept; leaves others alone.
  void update(std::int64_t block, std::span<const std::byte> bytes);
  /// Copies a kept block to `out`; false where it is not kept.
  [[nodiscard]] bool copy_to(std::int64_t block, std::span<std::byte> out) const;

  /// Why the first of them is here; none while there is none.
  [[nodiscard]] std::optional<std::string> reason() const;

 private:
  [[nodiscard]] bool empty() const { return !any_.load(std::memory_order_acquire); }

  std::atomic<bool> any_{false};
  mutable std::mutex mutex_;
  std::map<std::int64_t, std::vector<std::byte>> blocks_;
  Bytes room_{0};  ///< Left for more of them; known with the first.
  std::string reason_;
};

}  // namespace sluice::engine
