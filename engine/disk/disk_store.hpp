// Optimizer state, gradients that wait, and weights on a disk: a file that only this run has, in
// blocks that are checked whenever they come back.
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

/// What the file is for.
enum class DiskUse {
  training,
  /// Only transfers and their checksums are wanted: the file may be smaller, so that pieces share
  /// room, and what comes back is not compared.
  rehearsal,
};

/// Where the file is made and how its blocks are moved.
struct DiskPlace {
  std::filesystem::path folder = ".";
  DiskIo io = DiskIo::best;
  unsigned depth = kUsualDepth;  ///< Blocks in flight each way (BlockQueue).
  DiskUse use = DiskUse::training;
};

/// The file has no name once it is open: nothing of a run that was killed can be taken for the
/// state of another, and its room is free again. A run goes on from a checkpoint alone. Of every
/// block the step that wrote it and a checksum seeded with both are kept in memory; a block that
/// comes back otherwise (torn, lost or misplaced writes, flipped bits) ends the run. A block that
/// the disk does not take stays in memory, and `failure` says so: the state is whole.
class DiskStore {
 public:
  /// Reserves all of the file (a rehearsal's: at most half of what is free), so that the disk
  /// cannot be full later. `buffers`: the memory that `move` is called with, if known. Throws
  /// EnvironmentError naming folder and size.
  DiskStore(const planner::ModelShape& shape, const planner::StepGraph& graph,
            std::span<const std::span<std::byte>> buffers, const DiskPlace& place);
  ~DiskStore();
  DiskStore(const DiskStore&) = delete;  // Owns the file.
  DiskStore& operator=(const DiskStore&) = delete;

  /// Runs a task of `step` on the lane disk_read or disk_write: on that lane's thread, or between
  /// steps. Throws EnvironmentError naming unit and block.
  void move(const BoundTask& task, std::int64_t step);

  /// Writes all of the file, with `bytes` again and again: what was never written would come
  /// without the drive.
  void fill(std::span<std::byte> bytes);

  [[nodiscard]] bool holds(std::size_t unit) const { return layout_.holds(unit); }
  [[nodiscard]] bool holds(std::size_t unit, DiskPlane plane) const {
    return layout_.holds(unit, plane);
  }
  /// Bytes from `offset` of a unit's plane, [padded] elements; from any thread, while no step runs.
  /// What was never written is zero.
  void read(std::size_t unit, DiskPlane plane, std::int64_t offset, std::span<std::byte> out) const;
  void write(std::size_t unit, DiskPlane plane, std::int64_t offset, std::span<const std::byte> in);
  /// Writes zeros, even where nothing was written: a step that reads what never was has it without
  /// the drive, and takes less than every later one.
  void clear(std::size_t unit, DiskPlane plane, std::int64_t bytes);

  /// Why the disk did not take some of it, one line; none while it did. The run should end its step
  /// and save.
  [[nodiscard]] std::optional<std::string> failure() const { return kept_.reason(); }
  [[nodiscard]] bool direct() const { return direct_; }  ///< Past the page cache.
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  /// Bytes that the drive took, before the first step and since.
  [[nodiscard]] Bytes written() const { return Bytes(written_.load(std::memory_order_relaxed)); }
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  /// What a block should hold.
  struct Block {
    std::uint64_t checksum = 0;
    std::int64_t step = -1;  ///< That wrote it; 0: before the first. Negative: never written.
  };
  class Check;

  void open(const std::filesystem::path& folder);
  void verify(std::int64_t block, std::span<const std::byte> bytes) const;
  void sign(std::int64_t block, std::int64_t step, std::span<const std::byte> bytes);
  /// Makes the file as small as half of what is free, where the plan's is larger.
  void share_room();
  [[nodiscard]] std::string place_of(std::int64_t block) const;
  [[noreturn]] void fail(std::int64_t block, const std::string& what) const;
  void fetch(std::int64_t block, std::span<std::byte> bytes) const;
  void write_whole(std::int64_t block, std::span<std::byte> bytes);
  void clear_blocks(std::int64_t first, std::span<std::byte> zeros);

  DiskLayout layout_;
  std::filesystem::path folder_;
  DiskUse use_ = DiskUse::training;
  std::int64_t bytes_ = 0;   ///< Of the file.
  std::int64_t begins_ = 0;  ///< Pieces begin before this; those of larger offsets, modulo it.
  int descriptor_ = -1;
  bool direct_ = false;
  std::vector<Block> blocks_;
  KeptBlocks kept_;
  std::atomic<std::int64_t> written_{0};
  static constexpr std::size_t kLocks = 64;
  mutable std::array<std::mutex, kLocks> locks_;  ///< Of blocks, by number, between steps.
  std::unique_ptr<BlockQueue> reads_, writes_;
};

}  // namespace sluice::engine
