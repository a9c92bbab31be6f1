// Pinned host memory, which a GPU can copy from and to at full speed.
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

/// Host memory that a GPU can copy from and to at full speed: mapped
/// (engine/memory/even_memory.hpp), made resident by several threads and then registered with the
/// CUDA runtime. If registration fails or is not wanted, it is ordinary memory except for the
/// ranges pinned by `pin_part`.
class PinnedMemory {
 public:
  /// Allocates `bytes`, zeroed. Throws EnvironmentError naming `what` and the size if the system
  /// lacks the memory.
  PinnedMemory(Bytes bytes, const char* what, Pinning pinning = Pinning::wanted);
  /// Pins memory that someone else owns and that begins at a page, if the system allows (see
  /// pinned()); unpins it on destruction.
  explicit PinnedMemory(std::span<std::byte> memory);
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;  // Addresses inside are held by bound tasks.
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const { return {data_, size_}; }
  [[nodiscard]] bool pinned() const { return !registered_.empty() && whole_; }
  /// The CUDA runtime's reason why the memory is not pinned although that was wanted; empty
  /// otherwise.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  /// Pins the pages of `part`, where this memory is not pinned as a whole. Throws EnvironmentError
  /// if even that is refused.
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
  /// Beginnings of the ranges that are registered with the CUDA runtime, and so pinned.
  std::vector<std::byte*> registered_;
  std::set<std::byte*> pages_;  ///< Beginnings of the pages that `pin_part` pinned.
  std::string refusal_;
};

/// Keeps pinned memory for reuse: while such an object lives, the largest PinnedMemory that was
/// pinned as a whole stays pinned when it is released, and the next one that fits in it gets it,
/// zeroed (one that does not fit frees it). For processes that run many plans: pinning takes long,
/// and plans that use the same pages are more comparable, because pages can differ in speed.
class KeptPinnedMemory {
 public:
  /// Pins `at_least` bytes at once, if possible, to be kept for the first request.
  explicit KeptPinnedMemory(Bytes at_least = Bytes(0));
  ~KeptPinnedMemory();
  KeptPinnedMemory(const KeptPinnedMemory&) = delete;  // Counts itself.
  KeptPinnedMemory& operator=(const KeptPinnedMemory&) = delete;

  /// Bytes of pinned memory that are kept for the next request and not in use.
  [[nodiscard]] static Bytes held();
};

}  // namespace sluice::engine
