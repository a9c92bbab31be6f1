// Transfers of blocks between host memory and a file, several in flight at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace sluice::engine {

enum class Direction { read, write };

/// How blocks are moved. `best`: through io_uring where both the build and the system have it,
/// otherwise as `threads`; `threads`: by a few threads that each move one block at a time.
enum class DiskIo { best, threads };

/// A stretch of a file, cut into blocks of equal size of which the last may be shorter, and the
/// memory that it is moved to or from.
struct BlockRange {
  std::int64_t offset = 0;  ///< Where the stretch begins in the file, in bytes.
  std::byte* memory = nullptr;
  std::int64_t bytes = 0;
  std::int64_t block = 0;  ///< Size of a block in bytes.

  [[nodiscard]] std::int64_t blocks() const { return (bytes + block - 1) / block; }
  [[nodiscard]] std::int64_t begin(std::int64_t number) const { return number * block; }
  [[nodiscard]] std::int64_t size(std::int64_t number) const {
    const std::int64_t left = bytes - begin(number);
    return left < block ? left : block;
  }
};

/// What is done with each block of a transfer besides moving it. Both functions may be called from
/// any thread of the queue.
class BlockWork {
 public:
  virtual ~BlockWork() = default;
  /// Called with block `number` (from 0) of the range, before it is written or after it was read.
  virtual void visit(std::int64_t number, std::span<std::byte> block) = 0;
  /// Called when the system failed to move block `number` of the range, with the system's message
  /// in `what`. Returns true if the failure was handled (for a read: `block` now holds the data);
  /// false makes the transfer fail.
  virtual bool refused(std::int64_t number, std::span<std::byte> block,
                       const std::string& what) = 0;
};

/// Queue through which one lane reads or writes a file, with several blocks in flight at a time.
/// Calls must come from one thread. Allocates nothing while it moves blocks.
class BlockQueue {
 public:
  virtual ~BlockQueue() = default;
  BlockQueue() = default;
  BlockQueue(const BlockQueue&) = delete;  // The system holds addresses in it.
  BlockQueue& operator=(const BlockQueue&) = delete;

  /// Moves all blocks of `range` between its memory and the file, and returns once no transfer is
  /// in flight. Throws EnvironmentError with the system's message, or whatever `work` throws.
  virtual void move(Direction direction, const BlockRange& range, BlockWork& work) = 0;
};

/// Number of blocks that a queue keeps in flight where the best number for the drive has not been
/// measured: with blocks of 256 KiB these are 8 MiB, which keeps current drives busy.
inline constexpr unsigned kUsualDepth = 32;
inline constexpr unsigned kMostDepth = 1024;

/// Opens a queue that moves blocks of the file `descriptor` as `io` says. `memory`: stretches of
/// host memory that transfers will use, if known. `depth`: number of blocks in flight, at most
/// kMostDepth; without io_uring there are always four threads instead.
[[nodiscard]] std::unique_ptr<BlockQueue> open_block_queue(
    DiskIo io, int descriptor, std::span<const std::span<std::byte>> memory,
    unsigned depth = kUsualDepth);

/// Whether both this build and this system have io_uring.
[[nodiscard]] bool has_io_uring();

/// Moves all of `memory` to the file or from it, where it begins at byte `offset`, on the calling
/// thread. Throws EnvironmentError if the system fails to.
void move_whole(Direction direction, int descriptor, std::int64_t offset,
                std::span<std::byte> memory);

/// Moves block `number` of `range` on the calling thread, except its first `done` bytes, which were
/// moved already. Throws EnvironmentError if that fails, unless `work.refused` handles the failure.
void move_or_refuse(Direction direction, int descriptor, const BlockRange& range,
                    std::int64_t number, std::size_t done, BlockWork& work);

}  // namespace sluice::engine
