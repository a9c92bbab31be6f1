// Much host memory that is equally quick everywhere, where its pages are not.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>

#include "engine/memory/memory_latency.hpp"

namespace sluice::engine {

/// Zeroed anonymous memory, every page of it present, in huge pages where the system has them.
/// Where its pieces are of two speeds (kinds_of) their pages are put in an order in which every
/// stretch of some pieces is of both, in the shares that all memory has: what updates run at then
/// depends neither on the layer nor on which pages a process was given. Where the system shows
/// several NUMA nodes nothing is moved: what a load takes depends on who loads, and numactl says
/// where memory lies.
class EvenMemory {
 public:
  using Latency = std::function<Seconds(std::span<const std::byte>)>;

  enum class Order { even, as_found };

  /// Throws EnvironmentError naming `what` and the size where the system has no such memory.
  EvenMemory(std::size_t bytes, const char* what, Order order = Order::even);
  /// `latency` of a piece, in place of load_latency on the calling thread's core.
  EvenMemory(std::size_t bytes, const char* what, const Latency& latency);
  ~EvenMemory();
  EvenMemory(EvenMemory&& other) noexcept;
  EvenMemory& operator=(EvenMemory&&) = delete;
  EvenMemory(const EvenMemory&) = delete;

  /// Aligned to a huge page.
  [[nodiscard]] std::span<std::byte> bytes() const { return {data_, size_}; }
  /// Where there are two, by piece as the pages were found.
  [[nodiscard]] const std::optional<MemoryKinds>& kinds() const { return kinds_; }
  /// Bytes that keep together: 16 MiB, more where that would be over 8192 pieces.
  [[nodiscard]] std::size_t piece() const { return piece_; }
  /// Gives back all but the first `bytes`, rounded up to whole pages.
  void keep(std::size_t bytes);
  /// The caller unmaps it then.
  std::span<std::byte> release();

 private:
  explicit EvenMemory(std::size_t bytes);
  void map(const char* what);
  void survey(const Latency& latency);
  void reorder();

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;  ///< Mapped: whole pages.
  std::size_t piece_ = 0;
  std::optional<MemoryKinds> kinds_;
};

}  // namespace sluice::engine
