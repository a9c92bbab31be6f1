#include "profiler/probe/disk_bench.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "engine/disk/block_queue.hpp"
#include "engine/disk/direct_file.hpp"
#include "planner/disk_state.hpp"
#include "profiler/probe/aligned_memory.hpp"
#include "profiler/probe/sampling.hpp"
#include "sim/error.hpp"

namespace sluice::profiler {
namespace {

using engine::BlockQueue;
using engine::Way;

/// What one call of a queue moves: long against what is in flight.
constexpr std::int64_t kPiece = std::int64_t{64} << 20;
constexpr int kSlices = 6;
constexpr std::array kDepths = {4U, 8U, 16U, 32U, 64U, 128U};
/// A depth that reaches so much of the best is enough: less is in flight when something fails.
constexpr double kEnoughOfBest = 0.97;

class ScratchFile {
 public:
  ScratchFile(const std::filesystem::path& folder, Bytes size) : folder_(folder) {
    std::string name = (folder / ".sluice-probe-XXXXXX").string();
    descriptor_ = mkostemp(name.data(), O_CLOEXEC);
    if (descriptor_ < 0) fail(std::strerror(errno));
    unlink(name.c_str());
    pieces_ = std::max<std::int64_t>(size.count() / kPiece, 1);
    fill();
    direct_ = engine::pass_page_cache(descriptor_);
  }
  ~ScratchFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  ScratchFile(const ScratchFile&) = delete;  // Owns the descriptor.
  ScratchFile& operator=(const ScratchFile&) = delete;

  [[nodiscard]] bool direct() const { return direct_; }
  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] std::int64_t offset(std::int64_t piece) const { return piece % pieces_ * kPiece; }
  /// What earlier parts wrote is on the drive, and not in the way of the next one.
  void flush() const { fdatasync(descriptor_); }
  [[noreturn]] void fail(const std::string& what) const {
    throw EnvironmentError("disk at " + folder_.string() + ": " + what +
                           ": probe a folder with free space (--disk-path)");
  }

 private:
  /// Every piece once: what was never written reads as zeros without touching the disk.
  void fill() {
    const AlignedMemory memory{Bytes(kPiece)};
    std::uint64_t counter = 1;
    for (std::uint64_t& word : memory.as<std::uint64_t>()) word = mixed(counter++);
    try {
      for (std::int64_t piece = 0; piece < pieces_; ++piece) {
        engine::move_whole(Way::write, descriptor_, offset(piece), memory.as<std::byte>());
      }
    } catch (const EnvironmentError& error) {
      fail(error.what());
    }
    flush();
  }

  std::filesystem::path folder_;
  int descriptor_ = -1;
  bool direct_ = false;
  std::int64_t pieces_ = 1;
};

/// A lane: one thread that moves piece after piece through a queue of its own until it is told to
/// stop, as those of a run do.
class Mover : private engine::BlockWork {
 public:
  Mover(const ScratchFile& file, Way way, unsigned depth) : memory_(Bytes(kPiece)) {
    const auto words = memory_.as<std::uint64_t>();
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = mixed(i);
    const std::array registered = {memory_.as<std::byte>()};
    queue_ = engine::open_block_queue(engine::DiskIo::best, file.descriptor(), registered, depth);
    thread_ = std::thread([this, &file, way] {
      try {
        // Readers and writers start in different places.
        for (std::int64_t piece = way == Way::read ? 1 : 0; !stop_.load(); ++piece) {
          queue_->move(way,
                       {.offset = file.offset(piece),
                        .memory = memory_.as<std::byte>().data(),
                        .bytes = kPiece,
                        .block = planner::kDiskBlock.count()},
                       *this);
        }
      } catch (...) {
        error_ = std::current_exception();
      }
    });
  }
  ~Mover() override { join(); }
  Mover(const Mover&) = delete;  // Its thread holds `this`.
  Mover& operator=(const Mover&) = delete;

  [[nodiscard]] std::int64_t moved() const { return moved_.load(std::memory_order_relaxed); }
  void stop() {
    join();
    if (error_) std::rethrow_exception(error_);
  }

 private:
  struct Stopped {};

  void visit(std::int64_t /*number*/, std::span<std::byte> block) override {
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
  std::atomic<bool> stop_{false};
  std::atomic<std::int64_t> moved_{0};
  std::exception_ptr error_;
  std::thread thread_;
};

using Ways = std::vector<Way>;

/// Rates of all `ways` at once over slices of the budget, the first left out.
std::vector<Samples> rates(const ScratchFile& file, const Ways& ways, unsigned depth,
                           Seconds budget, int slices) {
  std::vector<std::unique_ptr<Mover>> movers;
  for (const Way way : ways) movers.push_back(std::make_unique<Mover>(file, way, depth));
  std::vector<Samples> all(movers.size());
  std::vector<std::int64_t> before(movers.size(), 0);
  Seconds last = read(Timer::wall);
  for (int slice = 0; slice <= slices; ++slice) {
    std::this_thread::sleep_for(budget / (slices + 1));
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

/// The fewest blocks in flight that move about as much, both ways at once, as any.
unsigned best_depth(const ScratchFile& file, Seconds budget) {
  std::array<double, kDepths.size()> together{};
  for (std::size_t i = 0; i < kDepths.size(); ++i) {
    for (const Samples& each : rates(file, {Way::read, Way::write}, kDepths[i], budget, 2)) {
      together[i] += median(each);
    }
  }
  const double most = *std::ranges::max_element(together);
  const auto enough =
      std::ranges::find_if(together, [&](double rate) { return rate >= kEnoughOfBest * most; });
  return kDepths[static_cast<std::size_t>(enough - together.begin())];
}

}  // namespace

std::optional<planner::Fact> DiskRates::shared_limit() const {
  constexpr double kApart = 0.95;
  planner::Fact both = read_beside;
  both.value = read_beside.value + write_beside.value;
  both.deviation = std::hypot(read_beside.deviation, write_beside.deviation);
  both.note = "reading and writing at once";
  if (both.value > kApart * (read.value + write.value)) return std::nullopt;
  return both;
}

void DiskRates::enter(planner::MachineProfile& profile) const {
  profile.disk_read = read;
  profile.disk_write = write;
  if (const auto both = shared_limit()) profile.disk_both = *both;
  if (depth) profile.disk_depth = *depth;
  if (free) profile.disk = *free;
}

std::string DiskRates::text() const {
  const auto gigabytes = [](const planner::Fact& fact) { return fact.value / 1e9; };
  std::string said =
      fmt::format("{:.2f} read, {:.2f} written; together {:.2f} and {:.2f} GB/s", gigabytes(read),
                  gigabytes(write), gigabytes(read_beside), gigabytes(write_beside));
  said += shared_limit() ? ", which share one limit" : ", each with a limit of its own";
  if (depth) said += fmt::format("; {:.0f} blocks in flight", depth->value);
  return said;
}

DiskRates measure_disk(const DiskBenchOptions& options) {
  std::error_code error;
  const auto space = std::filesystem::space(options.folder, error);
  Bytes size = options.file;
  if (!error) {
    size = std::min(size, Bytes(static_cast<std::int64_t>(space.available / 4)));
  }
  const ScratchFile file(options.folder, size);
  DiskRates found;
  if (!error) {
    const auto available = static_cast<double>(space.available);
    found.free = planner::Fact{.value = available,
                               .deviation = 0.1 * available,
                               .count = 1,
                               .source = planner::Source::measured,
                               .note = "free under " + options.folder.string()};
  }
  unsigned depth = engine::kUsualDepth;
  std::string how = file.direct() ? "O_DIRECT, " : "page cache, ";
  if (engine::has_io_uring()) {
    depth = best_depth(file, options.budget / 3);
    found.depth = planner::Fact{.value = static_cast<double>(depth),
                                .deviation = 0,
                                .count = static_cast<std::int64_t>(kDepths.size()),
                                .source = planner::Source::measured,
                                .note = "blocks of 256 KiB, each way, through io_uring"};
    how += "io_uring, " + std::to_string(depth) + " blocks of 256 KiB in flight, sustained";
  } else {
    how += "4 threads, blocks of 256 KiB, sustained";
  }
  const auto alone = [&](Way way) {
    file.flush();
    return measured_fact(rates(file, {way}, depth, options.budget, kSlices).front(), how);
  };
  found.write = alone(Way::write);
  found.read = alone(Way::read);
  const std::vector<Samples> beside =
      rates(file, {Way::read, Way::write}, depth, options.budget, kSlices);
  found.read_beside = measured_fact(beside[0], how + ", while writing");
  found.write_beside = measured_fact(beside[1], how + ", while reading");
  if (!file.direct()) {
    found.caveat =
        "the file system refuses O_DIRECT, so these are rates of the page cache: probe a folder "
        "on the disk that training will use (--disk-path)";
  }
  return found;
}

}  // namespace sluice::profiler
