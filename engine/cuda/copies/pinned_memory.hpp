// Host memory that a GPU copies from and to at full speed.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/memory/even_memory.hpp"
#include "sim/units.hpp"

namespace sluice::engine {

enum class Pinning { wanted, none };

/// Anonymous memory of `bytes` (engine/memory/even_memory.hpp), touched by several threads at once
/// and then registered with the CUDA runtime (quicker than cudaHostAlloc, at the same copy speed).
/// Where it cannot be registered, or is not to be, it is ordinary memory, but for the ranges that
/// `pin_part` names.
class PinnedMemory {
 public:
  /// Throws EnvironmentError naming `what` and the size where the system has no such memory.
  PinnedMemory(Bytes bytes, const char* what, Pinning pinning = Pinning::wanted);
  /// Registers memory that another owns, from a page's start, and unregisters it.
  explicit PinnedMemory(std::span<std::byte> memory);
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;  // Addresses inside are held by bound tasks.
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const { return {data_, size_}; }
  [[nodiscard]] bool pinned() const { return !registered_.empty() && whole_; }
  /// Why it is not pinned though it was wanted; empty otherwise.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  /// Pins the pages of a part of memory that is not pinned. Throws EnvironmentError where even that
  /// is refused.
  void pin_part(std::span<std::byte> part);

 private:
  void map_and_touch(const char* what, EvenMemory::Order order);
  void pin_whole();

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t mapped_ = 0;
  bool whole_ = false;
  bool owned_ = true;
  bool reordered_ = false;
  std::vector<std::byte*> registered_;  ///< Starts of registered ranges.
  std::set<std::byte*> pages_;          ///< Pinned in parts.
  std::string refusal_;
};

/// While one lives, the largest memory that was pinned as a whole and then given back stays pinned,
/// and the next that fits into it takes it over, zeroed: pinning 100 GiB takes tens of seconds, so
/// a process that runs many plans pins once. Plans that use the same memory also compare better:
/// other pages may be slower ones.
class KeptPinnedMemory {
 public:
  /// `at_least` is pinned now, if it can be.
  explicit KeptPinnedMemory(Bytes at_least = Bytes(0));
  ~KeptPinnedMemory();
  KeptPinnedMemory(const KeptPinnedMemory&) = delete;  // Counts itself.
  KeptPinnedMemory& operator=(const KeptPinnedMemory&) = delete;

  /// Held now, and by nobody in use.
  [[nodiscard]] static Bytes held();
};

}  // namespace sluice::engine
