// Transfers between host memory and a file, block by block, several at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace sluice::engine {

enum class Way { read, write };

/// How blocks are moved: through io_uring where build and system have it, else by threads that
/// each move one block at a time.
enum class DiskIo { best, threads };

/// Consecutive blocks of a file and where they are in memory; the last may be shorter.
struct BlockRange {
  std::int64_t offset = 0;  ///< In the file.
  std::byte* memory = nullptr;
  std::int64_t bytes = 0;
  std::int64_t block = 0;  ///< Bytes of a block.

  [[nodiscard]] std::int64_t blocks() const { return (bytes + block - 1) / block; }
  [[nodiscard]] std::int64_t begin(std::int64_t number) const { return number * block; }
  [[nodiscard]] std::int64_t size(std::int64_t number) const {
    const std::int64_t left = bytes - begin(number);
    return left < block ? left : block;
  }
};

/// What is done with a block besides moving it. Called from any thread of the queue.
class BlockWork {
 public:
  virtual ~BlockWork() = default;
  /// Before a block is written, or after it was read.
  virtual void visit(std::int64_t number, std::span<std::byte> block) = 0;
  /// The system did not move a block, and said `what`. True: the block is taken care of, and for a
  /// read is there; false: the move fails.
  virtual bool refused(std::int64_t number, std::span<std::byte> block,
                       const std::string& what) = 0;
};

/// One lane's way to a file; calls come from one thread. Allocates nothing while it moves.
class BlockQueue {
 public:
  virtual ~BlockQueue() = default;
  BlockQueue() = default;
  BlockQueue(const BlockQueue&) = delete;  // The system holds addresses in it.
  BlockQueue& operator=(const BlockQueue&) = delete;

  /// Returns once all blocks are there and no transfer is under way. Throws EnvironmentError with
  /// what the system said, or what `work` throws.
  virtual void move(Way way, const BlockRange& range, BlockWork& work) = 0;
};

/// Blocks in flight where nobody measured what a drive likes best: 8 MiB of 256 KiB blocks keep
/// drives of today busy.
inline constexpr unsigned kUsualDepth = 32;
inline constexpr unsigned kMostDepth = 1024;

/// A queue for the file `descriptor`, and memory that transfers will come from or go to, if known.
/// `depth`: blocks in flight, at most kMostDepth; threads, where there is no io_uring, are always
/// four.
[[nodiscard]] std::unique_ptr<BlockQueue> open_block_queue(
    DiskIo io, int descriptor, std::span<const std::span<std::byte>> memory,
    unsigned depth = kUsualDepth);

/// Whether this build and this system have io_uring.
[[nodiscard]] bool has_io_uring();

/// Moves all of `memory` on the calling thread. Throws EnvironmentError.
void move_whole(Way way, int descriptor, std::int64_t offset, std::span<std::byte> memory);

/// Moves a block of `range` from its byte `done` on, likewise, unless `work` can do without. Throws
/// EnvironmentError.
void move_or_refuse(Way way, int descriptor, const BlockRange& range, std::int64_t number,
                    std::size_t done, BlockWork& work);

}  // namespace sluice::engine
