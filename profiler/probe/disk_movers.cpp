#include "profiler/probe/disk_movers.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <memory>
#include <thread>

#include "engine/disk/block_checksum.hpp"
#include "engine/disk/direct_file.hpp"
#include "planner/plans/disk_state.hpp"
#include "profiler/probe/aligned_memory.hpp"
#include "sim/error.hpp"

namespace sluice::profiler {
namespace {

using engine::BlockQueue;
using engine::Direction;

/// Bytes moved by one call of a queue: long compared with what is in flight.
constexpr std::int64_t kPiece = std::int64_t{64} << 20;
/// Time after which a block counts as lost, and interval at which progress is checked.
constexpr Seconds kLongestBlock{10};
constexpr Seconds kLook{1e-3};

/// A lane: one thread that moves piece after piece through a queue of its own until it is stopped,
/// as those of a run do.
class Mover : private engine::BlockWork {
 public:
  Mover(const ScratchFile& file, Direction direction, unsigned depth) : memory_(Bytes(kPiece)) {
    const auto words = memory_.as<std::uint64_t>();
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = mixed(i);
    const std::array registered = {memory_.as<std::byte>()};
    queue_ = engine::open_block_queue(engine::DiskIo::best, file.descriptor(), registered, depth);
    thread_ = std::thread([this, &file, direction] {
      try {
        while (!stop_.load()) {
          queue_->move(direction,
                       {.offset = file.next_offset(direction),
                        .memory = memory_.as<std::byte>().data(),
                        .bytes = kPiece,
                        .block = planner::kDiskBlock.count()},
                       *this);
        }
      } catch (...) {
        error_ = std::current_exception();
        failed_.store(true);
      }
    });
  }
  ~Mover() override { join(); }
  Mover(const Mover&) = delete;  // Its thread holds `this`.
  Mover& operator=(const Mover&) = delete;

  [[nodiscard]] std::int64_t moved() const { return moved_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool failed() const { return failed_.load(); }
  void stop() {
    join();
    if (error_) std::rethrow_exception(error_);
  }

 private:
  struct Stopped {};

  /// Takes the checksum of every block, as a run's lanes do.
  void visit(std::int64_t number, std::span<std::byte> block) override {
    sums_ ^= engine::block_checksum(number, 0, block);
    moved_.fetch_add(std::ssize(block), std::memory_order_relaxed);
    if (stop_.load(std::memory_order_relaxed)) throw Stopped();
  }
  bool refused(std::int64_t, std::span<std::byte>, const std::string&) override { return false; }
  void join() {
    stop_.store(true);
    if (!thread_.joinable()) return;
    thread_.join();
    try {
      if (error_) std::rethrow_exception(error_);
    } catch (const Stopped&) {
      error_ = nullptr;
    } catch (...) {
      return;
    }
  }

  AlignedMemory memory_;
  std::unique_ptr<BlockQueue> queue_;
  std::atomic<std::uint64_t> sums_{0};  ///< Written by threads of the queue; nobody reads it.
  std::atomic<bool> stop_{false}, failed_{false};
  std::atomic<std::int64_t> moved_{0};
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace

ScratchFile::ScratchFile(const std::filesystem::path& folder, Bytes size) : folder_(folder) {
  descriptor_ = engine::open_nameless_file(folder, ".sluice-probe-");
  if (descriptor_ < 0) fail(std::strerror(errno));
  pieces_ = std::max<std::int64_t>(size.count() / kPiece, 1);
  if (ftruncate(descriptor_, this->size().count()) != 0) fail(std::strerror(errno));
  direct_ = engine::pass_page_cache(descriptor_);
  fill();
}

ScratchFile::~ScratchFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

Bytes ScratchFile::size() const { return Bytes(pieces_ * kPiece); }

std::int64_t ScratchFile::next_offset(Direction direction) const {
  const std::int64_t piece = direction == Direction::read ? pieces_ / 2 + read_++ : written_++;
  return piece % pieces_ * kPiece;
}

void ScratchFile::flush() const { fdatasync(descriptor_); }

void ScratchFile::fail(const std::string& what) const {
  throw EnvironmentError("disk at " + folder_.string() + ": " + what +
                         ": probe a folder with free space (--disk-path)");
}

/// Writes every piece once: what was never written reads as zeros without touching the disk.
void ScratchFile::fill() {
  const AlignedMemory memory{Bytes(kPiece)};
  std::uint64_t counter = 1;
  for (std::uint64_t& word : memory.as<std::uint64_t>()) word = mixed(counter++);
  try {
    for (std::int64_t piece = 0; piece < pieces_; ++piece) {
      engine::move_whole(Direction::write, descriptor_, piece * kPiece, memory.as<std::byte>());
    }
  } catch (const EnvironmentError& error) {
    fail(error.what());
  }
  flush();
}

std::vector<Samples> rates_at_once(const ScratchFile& file, const Directions& directions,
                                   unsigned depth, Seconds budget, int slices) {
  std::vector<std::unique_ptr<Mover>> movers;
  for (const Direction direction : directions)
    movers.push_back(std::make_unique<Mover>(file, direction, depth));
  std::vector<Samples> all(movers.size());
  std::vector<std::int64_t> before(movers.size(), 0);
  Seconds last = read(Timer::wall);
  const auto all_moved = [&] {
    for (std::size_t i = 0; i < movers.size(); ++i) {
      if (movers[i]->moved() == before[i] && !movers[i]->failed()) return false;
    }
    return true;
  };
  for (int slice = 0; slice <= slices; ++slice) {
    std::this_thread::sleep_for(budget / (slices + 1));
    // A slow drive may take longer for one block than a slice is meant to last.
    for (Seconds waited(0); !all_moved() && waited < kLongestBlock; waited += kLook) {
      std::this_thread::sleep_for(kLook);
    }
    const Seconds now = read(Timer::wall);
    for (std::size_t i = 0; i < movers.size(); ++i) {
      const std::int64_t moved = movers[i]->moved();
      if (slice > 0) {
        all[i].push_back(static_cast<double>(moved - before[i]) / (now - last).count());
      }
      before[i] = moved;
    }
    last = now;
  }
  try {
    for (const auto& mover : movers) mover->stop();
  } catch (const EnvironmentError& error) {
    file.fail(error.what());
  }
  return all;
}

}  // namespace sluice::profiler
