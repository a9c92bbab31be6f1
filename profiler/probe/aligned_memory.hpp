// Host memory for timing, from a huge page's start, in huge pages where the system gives them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/memory/even_memory.hpp"
#include "sim/units.hpp"

namespace sluice::profiler {

/// Host memory of the kind that training has (engine/memory/even_memory.hpp): spread evenly over
/// NUMA nodes, since the first GiB that a process gets may all lie on the nearer of two. The
/// probe's loads take parts of it, which are never given back.
class ProbeMemory {
 public:
  /// Maps the larger of `bytes` and `surveyed`, mixes its pages evenly where they have two speeds,
  /// and keeps the first `bytes`. Throws EnvironmentError where the system has too little.
  ProbeMemory(Bytes bytes, Bytes surveyed);
  /// Gives out the next `bytes`, from a huge page's start; empty where fewer are left.
  [[nodiscard]] std::span<std::byte> take(std::size_t bytes);
  [[nodiscard]] const std::optional<engine::MemoryKinds>& kinds() const { return memory_.kinds(); }

 private:
  engine::EvenMemory memory_;
  std::size_t taken_ = 0;
};

/// Zeroed host memory, aligned to huge pages. Where it is mapped anew it is not touched yet: the
/// thread that touches a page first decides its NUMA node. Where it comes from a `supply` it is
/// already present, and the supply must outlive it.
class AlignedMemory {
 public:
  /// Takes `bytes` from `supply`, or maps them where it is null or has too little left. Throws
  /// EnvironmentError naming the size where the system refuses.
  explicit AlignedMemory(Bytes bytes, ProbeMemory* supply = nullptr);
  ~AlignedMemory();
  AlignedMemory(const AlignedMemory&) = delete;  // One mapping has one owner.
  AlignedMemory& operator=(const AlignedMemory&) = delete;

  template <class T>
  [[nodiscard]] std::span<T> as() const {
    return {reinterpret_cast<T*>(data_), size_ / sizeof(T)};
  }

 private:
  /// Start of the mapping that this object owns; null where the supply owns the memory.
  std::byte* mapping_ = nullptr;
  std::size_t mapped_ = 0;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Pseudo-random number that depends on `counter` alone (SplitMix64's mixing function), so that
/// threads can make random operands independently.
[[nodiscard]] inline std::uint64_t mixed(std::uint64_t counter) {
  std::uint64_t x = counter + 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

}  // namespace sluice::profiler
