#include "engine/disk/disk_store.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "engine/disk/block_checksum.hpp"
#include "engine/disk/direct_file.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::engine {
namespace {

constexpr std::int64_t kBlock = planner::kDiskBlock.count();

/// Aligned memory for direct transfers of blocks.
class BlockMemory {
 public:
  explicit BlockMemory(std::int64_t blocks = 1)
      : data_(static_cast<std::byte*>(
            std::aligned_alloc(static_cast<std::size_t>(planner::kDiskAlign.count()),
                               static_cast<std::size_t>(blocks * kBlock)))) {
    if (!data_) throw std::bad_alloc();
  }
  [[nodiscard]] std::span<std::byte> first(std::int64_t bytes) const {
    return {data_.get(), static_cast<std::size_t>(bytes)};
  }

 private:
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };
  std::unique_ptr<std::byte, Free> data_;
};

}  // namespace

/// Signs blocks before they are written, verifies blocks that were read.
class DiskStore::Check : public BlockWork {
 public:
  Check(DiskStore& store, Direction direction, std::int64_t first, std::int64_t step)
      : store_(store), direction_(direction), first_(first), step_(step) {}
  void visit(std::int64_t number, std::span<std::byte> block) override {
    if (direction_ == Direction::write) {
      store_.sign(first_ + number, step_, block);
      store_.kept_.update(first_ + number, block);
    } else if (!store_.kept_.copy_to(first_ + number, block)) {
      store_.verify(first_ + number, block);
    }
  }
  bool refused(std::int64_t number, std::span<std::byte> block, const std::string& what) override {
    const std::int64_t at = first_ + number;
    if (direction_ == Direction::read) return store_.kept_.copy_to(at, block);
    return store_.kept_.keep(at, block, store_.place_of(at) + "cannot be written: " + what);
  }

 private:
  DiskStore& store_;
  Direction direction_;
  std::int64_t first_, step_;
};

DiskStore::DiskStore(const planner::ModelShape& shape, const planner::StepGraph& graph,
                     std::span<const std::span<std::byte>> buffers, const DiskPlace& place)
    : layout_(shape, graph),
      folder_(place.folder),
      use_(place.use),
      bytes_(graph.layout.disk_bytes.count()),
      begins_(bytes_) {
  if (use_ == DiskUse::rehearsal) share_room();
  open(place.folder);
  blocks_.resize(static_cast<std::size_t>((bytes_ + kBlock - 1) / kBlock));
  direct_ = pass_page_cache(descriptor_);
  reads_ = open_block_queue(place.io, descriptor_, buffers, place.depth);
  writes_ = open_block_queue(place.io, descriptor_, buffers, place.depth);
}

DiskStore::~DiskStore() {
  reads_.reset();
  writes_.reset();
  if (descriptor_ >= 0) close(descriptor_);
}

void DiskStore::open(const std::filesystem::path& folder) {
  const auto refuse = [&](const std::string& why) {
    const std::string fix = std::filesystem::is_directory(folder)
                                ? "free space there, or choose a plan with less on the disk"
                                : "make that folder, or name one with --disk-path";
    throw EnvironmentError("disk at " + folder.string() + ": cannot keep " +
                           planner::format_bytes(Bytes(bytes_)) + " there: " + why + ": " + fix);
  };
  // Free space is checked first: reserving up to the last byte would leave others none for a
  // moment.
  std::error_code unknown;
  const auto space = std::filesystem::space(folder, unknown);
  if (!unknown && space.available < static_cast<std::uintmax_t>(bytes_)) {
    refuse(planner::format_bytes(Bytes(static_cast<std::int64_t>(space.available))) + " are free");
  }
  descriptor_ = open_nameless_file(folder, ".sluice-state-");
  if (descriptor_ < 0) refuse(std::strerror(errno));
  const int refused = posix_fallocate(descriptor_, 0, bytes_);
  if (refused == 0) return;
  close(descriptor_);
  descriptor_ = -1;
  refuse(std::strerror(refused));
}

void DiskStore::sign(std::int64_t block, std::int64_t step, std::span<const std::byte> bytes) {
  blocks_[static_cast<std::size_t>(block)] = {block_checksum(block, step, bytes), step};
}

void DiskStore::verify(std::int64_t block, std::span<const std::byte> bytes) const {
  const Block& known = blocks_[static_cast<std::size_t>(block)];
  if (known.step < 0) return;
  const bool same = block_checksum(block, known.step, bytes) == known.checksum;
  // Blocks of overlapping pieces are expected to differ.
  if (same || use_ == DiskUse::rehearsal) return;
  fail(block, "comes back otherwise than step " + std::to_string(known.step) + " wrote it");
}

void DiskStore::share_room() {
  const std::int64_t largest = std::max(kBlock, layout_.largest_piece().count());
  std::error_code unknown;
  const auto space = std::filesystem::space(folder_, unknown);
  if (unknown) return;
  const std::int64_t half = static_cast<std::int64_t>(space.available / 2) / kBlock * kBlock;
  if (half >= bytes_) return;
  bytes_ = std::min(bytes_, std::max(half, (largest / kBlock + 2) * kBlock));
  begins_ = std::max(kBlock, (bytes_ - largest) / kBlock * kBlock);
}

void DiskStore::fill(std::span<std::byte> bytes) {
  for (std::int64_t at = 0; at < bytes_;) {
    const auto part = std::min(bytes.size(), static_cast<std::size_t>(bytes_ - at));
    move_whole(Direction::write, descriptor_, at, bytes.first(part));
    at += static_cast<std::int64_t>(part);
  }
}

std::string DiskStore::place_of(std::int64_t block) const {
  return "disk at " + folder_.string() + ": " + layout_.name_of(block) + ": ";
}

void DiskStore::fail(std::int64_t block, const std::string& what) const {
  throw EnvironmentError(place_of(block) + what +
                         ": check the drive, and go on from the last checkpoint with --resume");
}

void DiskStore::move(const BoundTask& task, std::int64_t step) {
  const Direction direction =
      task.lane == planner::LaneKind::disk_read ? Direction::read : Direction::write;
  const BoundAccess& memory = task.access(direction == Direction::read ? planner::Role::destination
                                                                       : planner::Role::source);
  const std::int64_t offset = task.disk_offset.value().count() % begins_;
  Check check(*this, direction, offset / kBlock, step);
  BlockQueue& queue = direction == Direction::read ? *reads_ : *writes_;
  try {
    queue.move(direction, {offset, memory.data, memory.bytes.count(), kBlock}, check);
    if (direction == Direction::write)
      written_.fetch_add(memory.bytes.count(), std::memory_order_relaxed);
  } catch (const EnvironmentError& error) {
    const std::string what = error.what();
    if (what.starts_with("disk at ")) throw;
    fail(offset / kBlock,
         (direction == Direction::read ? "cannot be read: " : "cannot be written: ") + what);
  }
}

void DiskStore::fetch(std::int64_t block, std::span<std::byte> bytes) const {
  if (kept_.copy_to(block, bytes)) return;
  try {
    move_whole(Direction::read, descriptor_, block * kBlock, bytes);
  } catch (const EnvironmentError& error) {
    fail(block, std::string("cannot be read: ") + error.what());
  }
  verify(block, bytes);
}

void DiskStore::read(std::size_t unit, DiskPlane plane, std::int64_t offset,
                     std::span<std::byte> out) const {
  const BlockMemory memory;
  while (!out.empty()) {
    const DiskPart part = layout_.part_at(unit, plane, offset, std::ssize(out));
    const std::span<std::byte> block = memory.first(part.block_bytes);
    {
      const std::lock_guard lock(locks_[static_cast<std::size_t>(part.block) % kLocks]);
      if (blocks_[static_cast<std::size_t>(part.block)].step < 0) {
        std::ranges::fill(block, std::byte{0});
      } else {
        fetch(part.block, block);
      }
    }
    const auto bytes = static_cast<std::size_t>(part.bytes);
    std::memcpy(out.data(), block.data() + part.at, bytes);
    out = out.subspan(bytes);
    offset += part.bytes;
  }
}

void DiskStore::write(std::size_t unit, DiskPlane plane, std::int64_t offset,
                      std::span<const std::byte> in) {
  const BlockMemory memory;
  while (!in.empty()) {
    const DiskPart part = layout_.part_at(unit, plane, offset, std::ssize(in));
    const std::span<std::byte> block = memory.first(part.block_bytes);
    const auto bytes = static_cast<std::size_t>(part.bytes);
    {
      const std::lock_guard lock(locks_[static_cast<std::size_t>(part.block) % kLocks]);
      if (blocks_[static_cast<std::size_t>(part.block)].step < 0) {
        std::ranges::fill(block, std::byte{0});
      } else if (part.bytes < part.block_bytes) {
        fetch(part.block, block);
      }
      std::memcpy(block.data() + part.at, in.data(), bytes);
      sign(part.block, 0, block);
      kept_.update(part.block, block);
      write_whole(part.block, block);
    }
    in = in.subspan(bytes);
    offset += part.bytes;
  }
}

void DiskStore::clear(std::size_t unit, DiskPlane plane, std::int64_t bytes) {
  constexpr std::int64_t kAtOnce = 32;  // Number of blocks in one transfer.
  const BlockMemory memory(kAtOnce);
  std::ranges::fill(memory.first(kAtOnce * kBlock), std::byte{0});
  const auto part_at = [&](std::int64_t offset) {
    return layout_.part_at(unit, plane, offset, bytes - offset);
  };
  for (std::int64_t offset = 0; offset < bytes;) {
    const DiskPart part = part_at(offset);
    std::int64_t blocks = 0;
    for (DiskPart next = part; next.bytes == kBlock && next.block == part.block + blocks;) {
      ++blocks;
      const std::int64_t behind = offset + blocks * kBlock;
      if (blocks == kAtOnce || behind >= bytes) break;
      next = part_at(behind);
    }
    if (blocks == 0) {
      write(unit, plane, offset, memory.first(part.bytes));
      offset += part.bytes;
    } else {
      clear_blocks(part.block, memory.first(blocks * kBlock));
      offset += blocks * kBlock;
    }
  }
}

void DiskStore::clear_blocks(std::int64_t first, std::span<std::byte> zeros) {
  for (std::int64_t i = 0; i * kBlock < std::ssize(zeros); ++i) {
    const auto block = zeros.subspan(static_cast<std::size_t>(i * kBlock), kBlock);
    sign(first + i, 0, block);
    kept_.update(first + i, block);
  }
  write_whole(first, zeros);
}

/// Writes whole blocks from `block` on, and signs them.
void DiskStore::write_whole(std::int64_t block, std::span<std::byte> bytes) {
  try {
    move_whole(Direction::write, descriptor_, block * kBlock, bytes);
    written_.fetch_add(std::ssize(bytes), std::memory_order_relaxed);
  } catch (const EnvironmentError& error) {
    fail(block, std::string("cannot be written: ") + error.what());
  }
}

}  // namespace sluice::engine
