#include "engine/disk/kept_blocks.hpp"

#include <algorithm>

#include "planner/machines/host_memory.hpp"

namespace sluice::engine {
namespace {

/// Divisor of the system's free memory that gives the part used here: the save that follows needs
/// memory, too.
constexpr std::int64_t kShareOfFree = 2;

/// Overwrites the beginning of a kept block. A block may be shorter when it is written again; the
/// rest is then never read.
void overwrite(std::vector<std::byte>& kept, std::span<const std::byte> bytes) {
  if (kept.size() < bytes.size()) kept.resize(bytes.size());
  std::ranges::copy(bytes, kept.begin());
}

}  // namespace

bool KeptBlocks::keep(std::int64_t block, std::span<const std::byte> bytes,
                      const std::string& what) {
  const std::lock_guard lock(mutex_);
  if (reason_.empty()) {
    reason_ = what;
    room_ = Bytes(planner::host_memory().available.count() / kShareOfFree);
  }
  const auto known = blocks_.find(block);
  if (known != blocks_.end()) {
    overwrite(known->second, bytes);
    return true;
  }
  if (Bytes(std::ssize(bytes)) > room_) return false;
  room_ -= Bytes(std::ssize(bytes));
  blocks_.emplace(block, std::vector<std::byte>(bytes.begin(), bytes.end()));
  any_.store(true, std::memory_order_release);
  return true;
}

void KeptBlocks::update(std::int64_t block, std::span<const std::byte> bytes) {
  if (empty()) return;
  const std::lock_guard lock(mutex_);
  const auto known = blocks_.find(block);
  if (known != blocks_.end()) overwrite(known->second, bytes);
}

bool KeptBlocks::copy_to(std::int64_t block, std::span<std::byte> out) const {
  if (empty()) return false;
  const std::lock_guard lock(mutex_);
  const auto known = blocks_.find(block);
  if (known == blocks_.end()) return false;
  std::ranges::copy(std::span(known->second).first(std::min(out.size(), known->second.size())),
                    out.begin());
  return true;
}

std::optional<std::string> KeptBlocks::reason() const {
  if (empty()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return reason_;
}

}  // namespace sluice::engine
