// Optimizer state that lives on a disk: a file that only this run has, in blocks that are checked
// whenever they come back.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/device.hpp"
#include "engine/disk/block_queue.hpp"
#include "planner/disk_state.hpp"
#include "planner/shape.hpp"
#include "planner/step_graph.hpp"

namespace sluice::engine {

/// Where the file is made and how its blocks are moved.
struct DiskPlace {
  std::filesystem::path folder = ".";
  DiskIo io = DiskIo::best;
};

/// Planes of a unit that a piece on the disk holds.
enum class DiskPlane { low, moment1, moment2 };

/// The file has no name once it is open: nothing of a run that was killed can be taken for the
/// state of another, and its room is free again. A run goes on from a checkpoint alone. Of every
/// block the step that wrote it and a checksum seeded with both are kept in memory; a block that
/// comes back otherwise (torn, lost or misplaced writes, flipped bits) ends the run.
class DiskStore {
 public:
  /// Reserves all of the file, so that the disk cannot be full later. `buffers`: the memory that
  /// `move` is called with, if known. Throws EnvironmentError naming folder and size.
  DiskStore(const planner::ModelShape& shape, const planner::StepGraph& graph,
            std::span<const std::span<std::byte>> buffers, const DiskPlace& place);
  ~DiskStore();
  DiskStore(const DiskStore&) = delete;  // Owns the file.
  DiskStore& operator=(const DiskStore&) = delete;

  /// Runs a read_state or write_state task of `step` on its lane's thread. Throws EnvironmentError
  /// naming unit and block.
  void move(const BoundTask& task, std::int64_t step);

  [[nodiscard]] bool holds(std::size_t unit) const { return !disk_[unit].empty(); }
  [[nodiscard]] bool holds(std::size_t unit, DiskPlane plane) const;
  /// Bytes from `offset` of a unit's plane, [padded] elements; from any thread, while no step runs.
  /// What was never written is zero.
  void read(std::size_t unit, DiskPlane plane, std::int64_t offset, std::span<std::byte> out) const;
  void write(std::size_t unit, DiskPlane plane, std::int64_t offset, std::span<const std::byte> in);
  void clear(std::size_t unit, DiskPlane plane, std::int64_t bytes);

  [[nodiscard]] bool direct() const { return direct_; }  ///< Past the page cache.
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  /// What a block should hold.
  struct Block {
    std::uint64_t checksum = 0;
    std::int64_t step = -1;  ///< That wrote it; 0: before the first. Negative: never written.
  };
  class Check;
  struct Part;

  void open(const std::filesystem::path& folder);
  void require_direct();
  [[nodiscard]] std::uint64_t checksum_of(std::int64_t block, std::int64_t step,
                                          std::span<const std::byte> bytes) const;
  void verify(std::int64_t block, std::span<const std::byte> bytes) const;
  void sign(std::int64_t block, std::int64_t step, std::span<const std::byte> bytes);
  [[noreturn]] void fail(std::int64_t block, const std::string& what) const;
  [[nodiscard]] Part part_at(std::size_t unit, DiskPlane plane, std::int64_t offset,
                             std::int64_t bytes) const;
  void fetch(std::int64_t block, std::span<std::byte> bytes) const;

  planner::ModelShape shape_;
  std::vector<std::vector<planner::DiskPiece>> disk_;
  std::vector<std::int64_t> begin_;  ///< Of each unit in the file.
  bool low_ = false;                 ///< Pieces begin with low halves.
  std::filesystem::path folder_;
  std::int64_t bytes_ = 0;
  int descriptor_ = -1;
  bool direct_ = false;
  std::vector<Block> blocks_;
  static constexpr std::size_t kLocks = 64;
  mutable std::array<std::mutex, kLocks> locks_;  ///< Of blocks, by number, between steps.
  std::unique_ptr<BlockQueue> reads_, writes_;
};

}  // namespace sluice::engine
