// Large host memory with the same speed everywhere, even where the system's pages differ in speed.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>

#include "engine/memory/memory_latency.hpp"

namespace sluice::engine {

/// Zeroed anonymous memory, fully resident, in huge pages where the system has them. Where some
/// pieces of it are slower to read than others (kinds_of), its pages are reordered so that every
/// stretch of several pieces has the same share of slow ones: the speed of updates then depends
/// neither on the layer nor on which pages the process was given. Nothing is moved where the system
/// shows several NUMA nodes: latency depends on the loading core there, and numactl decides where
/// memory lies.
class EvenMemory {
 public:
  using Latency = std::function<Seconds(std::span<const std::byte>)>;

  enum class Order { even, as_found };

  /// Maps `bytes` bytes; `what` names their use in errors. Throws EnvironmentError with that name
  /// and the size where the system has no such memory.
  EvenMemory(std::size_t bytes, const char* what, Order order = Order::even);
  /// Maps `bytes` bytes, and uses `latency` to time each piece in place of load_latency on the
  /// calling thread's core.
  EvenMemory(std::size_t bytes, const char* what, const Latency& latency);
  ~EvenMemory();
  EvenMemory(EvenMemory&& other) noexcept;
  EvenMemory& operator=(EvenMemory&&) = delete;
  EvenMemory(const EvenMemory&) = delete;

  /// All of the memory, aligned to a huge page.
  [[nodiscard]] std::span<std::byte> bytes() const { return {data_, size_}; }
  /// Mean latencies of quick and of slow pieces, and which pieces were slow before they were
  /// reordered, by index; none if all have one speed or none was timed.
  [[nodiscard]] const std::optional<MemoryKinds>& kinds() const { return kinds_; }
  /// Size in bytes of the pieces that are timed and moved as a whole: 16 MiB, or more where that
  /// would make over 8192 pieces.
  [[nodiscard]] std::size_t piece() const { return piece_; }
  /// Returns all but the first `bytes`, rounded up to whole pages, to the system.
  void keep(std::size_t bytes);
  /// Hands the memory over to the caller, who must unmap it.
  std::span<std::byte> release();

 private:
  explicit EvenMemory(std::size_t bytes);
  void map(const char* what);
  void survey(const Latency& latency);
  void reorder();

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;  ///< Size of the mapping, in whole pages.
  std::size_t piece_ = 0;
  std::optional<MemoryKinds> kinds_;
};

}  // namespace sluice::engine
