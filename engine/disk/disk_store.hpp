// The disk file of one run, which holds optimizer state, gradients that wait for their update, and
// weights. Every block is verified when it is read back.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/disk/block_queue.hpp"
#include "engine/disk/disk_layout.hpp"
#include "engine/disk/kept_blocks.hpp"
#include "engine/execution/device.hpp"
#include "planner/graph/step_graph.hpp"
#include "planner/models/shape.hpp"

namespace sluice::engine {

/// What the disk file is used for, which decides its size and whether blocks are verified when they
/// are read back.
enum class DiskUse {
  training,
  /// Only the times of transfers and checksums matter: the file may be smaller than the plan asks
  /// for, so that tensors overlap in it, and blocks that were read are not verified.
  rehearsal,
};

/// Where a run's disk file is made and how its blocks are moved.
struct DiskPlace {
  std::filesystem::path folder = ".";
  DiskIo io = DiskIo::best;
  unsigned depth = kUsualDepth;  ///< Number of blocks in flight in each direction (see BlockQueue).
  DiskUse use = DiskUse::training;
};

/// The disk file of a run: what the plan keeps on the disk (optimizer state, weights, gradients
/// that wait for their update). It is unlinked as soon as it is open, so that a killed run leaves
/// nothing behind and a run can only be continued from a checkpoint. The step that wrote each block
/// and a checksum seeded with block number and step are kept in memory; a block that differs when
/// read back (torn, lost or misplaced write, flipped bits) ends the run. A block that the disk
/// refuses to write stays in memory and `failure` reports it: the state remains complete.
class DiskStore {
 public:
  /// Makes the file in `place.folder` and reserves all of it, so that the disk cannot fill up
  /// later; a rehearsal reserves at most half of the free space, or what its largest transfer
  /// needs. `buffers`: the memory that `move` will be called with, if known. Throws
  /// EnvironmentError naming folder and size.
  DiskStore(const planner::ModelShape& shape, const planner::StepGraph& graph,
            std::span<const std::span<std::byte>> buffers, const DiskPlace& place);
  ~DiskStore();
  DiskStore(const DiskStore&) = delete;  // Owns the file.
  DiskStore& operator=(const DiskStore&) = delete;

  /// Runs `task`, a transfer of the lane disk_read or disk_write, as part of step `step` (from 1).
  /// Call it on that lane's thread, or between steps. Throws EnvironmentError naming the tensor and
  /// its block.
  void move(const BoundTask& task, std::int64_t step);

  /// Fills the whole file with repetitions of `bytes`, for measurements: the drive is not touched
  /// to read blocks that were never written, which would be too fast.
  void fill(std::span<std::byte> bytes);

  [[nodiscard]] bool holds(std::size_t unit) const { return layout_.holds(unit); }
  [[nodiscard]] bool holds(std::size_t unit, DiskPlane plane) const {
    return layout_.holds(unit, plane);
  }
  /// Read and write as many bytes of a unit's plane as the span holds, from byte `offset` of the
  /// plane on. A plane has an element for each parameter of the unit, padding included: 2 bytes in
  /// halves of weights, 4 in moments. Both may be called from any thread while no step runs. Blocks
  /// that were never written read as zero.
  void read(std::size_t unit, DiskPlane plane, std::int64_t offset, std::span<std::byte> out) const;
  void write(std::size_t unit, DiskPlane plane, std::int64_t offset, std::span<const std::byte> in);
  /// Writes zeros over the first `bytes` of a unit's plane, even over blocks that were never
  /// written: a first step that reads unwritten blocks would be faster than all later ones.
  void clear(std::size_t unit, DiskPlane plane, std::int64_t bytes);

  /// Why the disk refused to write a block, in one line; none as long as every write succeeded.
  /// Such blocks are kept in memory: after a failure the run should end its step and save a
  /// checkpoint.
  [[nodiscard]] std::optional<std::string> failure() const { return kept_.reason(); }
  /// Whether transfers of the file bypass the system's page cache.
  [[nodiscard]] bool direct() const { return direct_; }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  /// Bytes written to the drive so far, including those written before the first step.
  [[nodiscard]] Bytes written() const { return Bytes(written_.load(std::memory_order_relaxed)); }
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  /// What is known of a block of the file, by which it is verified when it is read back.
  struct Block {
    std::uint64_t checksum = 0;
    /// Step that wrote the block last; 0 for writes before the first step, negative if never
    /// written.
    std::int64_t step = -1;
  };
  class Check;

  void open(const std::filesystem::path& folder);
  void verify(std::int64_t block, std::span<const std::byte> bytes) const;
  void sign(std::int64_t block, std::int64_t step, std::span<const std::byte> bytes);
  /// Shrinks a rehearsal's file to half of the free space if the plan asks for more.
  void share_room();
  [[nodiscard]] std::string place_of(std::int64_t block) const;
  [[noreturn]] void fail(std::int64_t block, const std::string& what) const;
  void fetch(std::int64_t block, std::span<std::byte> bytes) const;
  void write_whole(std::int64_t block, std::span<std::byte> bytes);
  void clear_blocks(std::int64_t first, std::span<std::byte> zeros);

  DiskLayout layout_;
  std::filesystem::path folder_;
  DiskUse use_ = DiskUse::training;
  std::int64_t bytes_ = 0;  ///< Size of the file in bytes.
  /// Transfers begin at offsets below this many bytes: the file's size, or less in a rehearsal's
  /// shrunk file, so that the largest one still fits; the plan's offsets are taken modulo it.
  std::int64_t begins_ = 0;
  int descriptor_ = -1;
  bool direct_ = false;
  std::vector<Block> blocks_;
  KeptBlocks kept_;
  std::atomic<std::int64_t> written_{0};
  static constexpr std::size_t kLocks = 64;
  /// Locks for blocks that `read` and `write` access, chosen by block number modulo kLocks.
  mutable std::array<std::mutex, kLocks> locks_;
  std::unique_ptr<BlockQueue> reads_, writes_;
};

}  // namespace sluice::engine
