// Moves bytes between the GPUs of all ranks, in each of the ways that the experiment compares.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>
#include <nccl.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "board.hpp"

namespace sluice::several_gpus {

/// The first six are NCCL's: kernels with as many blocks as it likes, or at most 2, 4 or 8; kernels
/// on registered windows; copy engines on registered windows. The others are our own pushes to
/// mapped memory of the peers, between flags that streams write and wait for: one copy after the
/// other, all in one batch, each peer on its own stream; and `events`: between events, with a
/// barrier of the host's threads before each wait.
enum class Way { plain, max2, max4, max8, window, ce, push, batch, streams, events };

enum class Operation { all_gather, all_to_all, reduce_scatter };

[[nodiscard]] std::string name_of(Way way);
[[nodiscard]] std::string name_of(Operation operation);
/// The ways of a list with commas; throws std::runtime_error at a word that names none.
[[nodiscard]] std::vector<Way> ways_of(const std::string& list);

class Fabric {
 public:
  /// Memory of 2 x `half` bytes on every rank, and a communicator or mapped peers for each way; all
  /// ranks call it.
  Fabric(const Rank& rank, const std::vector<Way>& ways, std::size_t half);
  Fabric(const Fabric&) = delete;  // Peers hold its addresses.

  [[nodiscard]] static bool can(Way way, Operation operation);
  /// Enqueues one collective; all ranks do so in the same order. `bytes` are of the whole buffer of
  /// `of` slices; slice i is rank i's. all_gather works in place at offset `to`; the others read at
  /// `from` and write at `to`.
  void enqueue(Way way, Operation operation, std::size_t bytes, std::size_t from, std::size_t to);
  /// Whether `bytes` moved by this way arrive on every rank where they should; all ranks call it.
  [[nodiscard]] bool right(Way way, Operation operation, std::size_t bytes);

  [[nodiscard]] cudaStream_t stream() const { return stream_; }
  /// Memory that the way works on.
  [[nodiscard]] char* memory(Way way) const { return own(way) ? peers_[rank_.id] : arena_; }
  /// A peer's memory, mapped here; only where `ways` had one of our own.
  [[nodiscard]] char* peer(int id) const { return peers_[id]; }
  [[nodiscard]] std::size_t half() const { return half_; }
  /// What NCCL's answer to the registration of windows was.
  [[nodiscard]] const std::string& windows() const { return windows_; }

 private:
  struct Copies;
  [[nodiscard]] static bool own(Way way) { return way >= Way::push; }
  void make_communicator(Way way);
  void map_peers();
  void share_events();
  [[nodiscard]] Copies pushes(Operation operation, std::size_t bytes, std::size_t from,
                              std::size_t to) const;
  void meet_on_streams(int row);
  void meet_by_events(int row);
  void push(Way way, const Copies& copies);

  Rank rank_;
  std::size_t half_;
  cudaStream_t stream_{};
  char* arena_ = nullptr;
  std::array<ncclComm_t, 6> communicators_{};
  std::string windows_ = "no windows";
  std::array<char*, kMostRanks> peers_{};
  std::array<cudaStream_t, kMostRanks> sides_{};
  std::array<std::array<cudaEvent_t, kMostRanks>, 2>
      events_{};  ///< Ready and done events of all ranks.
  std::array<cudaEvent_t, kMostRanks> joins_{};
  std::uint32_t sequence_ = 0;
  bool copy_flags_ = false;  ///< Whether flags are set by copies, as NCCL sets its own.
  CUresult (*batch_memory_operations_)(CUstream, unsigned, CUstreamBatchMemOpParams*,
                                       unsigned) = nullptr;
};

}  // namespace sluice::several_gpus
