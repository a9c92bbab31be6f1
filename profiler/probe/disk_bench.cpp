#include "profiler/probe/disk_bench.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "profiler/probe/aligned_memory.hpp"
#include "profiler/probe/sampling.hpp"
#include "sim/error.hpp"

namespace sluice::profiler {
namespace {

constexpr std::int64_t kPiece = std::int64_t{8} << 20;
constexpr int kThreads = 4;
constexpr int kSlices = 6;

enum class Way { read, write };

class ScratchFile {
 public:
  ScratchFile(const std::filesystem::path& folder, Bytes size) : folder_(folder) {
    std::string name = (folder / ".sluice-probe-XXXXXX").string();
    descriptor_ = mkostemp(name.data(), O_CLOEXEC);
    if (descriptor_ < 0) fail("making a file");
    unlink(name.c_str());
    const int flags = fcntl(descriptor_, F_GETFL);
    direct_ = fcntl(descriptor_, F_SETFL, flags | O_DIRECT) == 0;
    pieces_ = std::max<std::int64_t>(size.count() / kPiece, 1);
  }
  ~ScratchFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  ScratchFile(const ScratchFile&) = delete;  // Owns the descriptor.
  ScratchFile& operator=(const ScratchFile&) = delete;

  [[nodiscard]] bool direct() const { return direct_; }
  [[nodiscard]] std::int64_t pieces() const { return pieces_; }

  void move(Way way, std::int64_t piece, std::byte* memory) {
    const std::int64_t at = piece % pieces_ * kPiece;
    bool refused = false;
    for (std::int64_t done = 0; done < kPiece;) {
      const auto left = static_cast<std::size_t>(kPiece - done);
      const ssize_t moved = way == Way::read ? pread(descriptor_, memory + done, left, at + done)
                                             : pwrite(descriptor_, memory + done, left, at + done);
      if (moved < 0 && errno == EINTR) continue;
      if (moved < 0 && errno == EINVAL && !refused) {
        // Some file systems accept the flag and refuse the transfer.
        refused = true;
        fcntl(descriptor_, F_SETFL, fcntl(descriptor_, F_GETFL) & ~O_DIRECT);
        direct_ = false;
        continue;
      }
      if (moved <= 0) fail(way == Way::read ? "reading" : "writing");
      done += moved;
    }
  }
  void flush() {
    if (!direct_) fdatasync(descriptor_);
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw EnvironmentError("disk at " + folder_.string() + ": " + what + " failed: " +
                           std::strerror(errno) + "; run the probe in a folder with free space");
  }

  std::filesystem::path folder_;
  int descriptor_ = -1;
  std::atomic<bool> direct_{false};
  std::int64_t pieces_ = 1;
};

/// Threads that move pieces until they are told to stop, and how many they have moved.
class Movers {
 public:
  Movers(ScratchFile& file, Way way, int threads) {
    for (int i = 0; i < threads; ++i) {
      threads_.emplace_back([this, &file, way, i, threads] {
        try {
          const AlignedMemory memory{Bytes(kPiece)};
          const auto words = memory.as<std::uint64_t>();
          for (std::size_t word = 0; word < words.size(); ++word) {
            words[word] = mixed(word + static_cast<std::size_t>(i) * words.size());
          }
          for (std::int64_t piece = i; !stop_.load(std::memory_order_relaxed); piece += threads) {
            file.move(way, piece, memory.as<std::byte>().data());
            moved_.fetch_add(kPiece, std::memory_order_relaxed);
          }
        } catch (...) {
          errors_[static_cast<std::size_t>(i)] = std::current_exception();
        }
      });
    }
  }
  ~Movers() { join(); }
  Movers(const Movers&) = delete;  // Threads hold `this`.
  Movers& operator=(const Movers&) = delete;

  [[nodiscard]] std::int64_t moved() const { return moved_.load(std::memory_order_relaxed); }
  void stop() {
    join();
    for (const std::exception_ptr& error : errors_) {
      if (error) std::rethrow_exception(error);
    }
  }

 private:
  void join() {
    stop_.store(true);
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }
  std::atomic<bool> stop_{false};
  std::atomic<std::int64_t> moved_{0};
  std::array<std::exception_ptr, kThreads> errors_;
  std::vector<std::thread> threads_;
};

/// Rates of all `movers` at once over slices of the budget.
std::vector<Samples> rates(std::vector<std::unique_ptr<Movers>>& movers, Seconds budget) {
  std::vector<Samples> all(movers.size());
  std::vector<std::int64_t> before(movers.size(), 0);
  Seconds last = read(Timer::wall);
  for (int slice = 0; slice <= kSlices; ++slice) {
    std::this_thread::sleep_for(budget / (kSlices + 1));
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
  for (const auto& mover : movers) mover->stop();
  return all;
}

Samples alone(ScratchFile& file, Way way, Seconds budget) {
  std::vector<std::unique_ptr<Movers>> movers;
  movers.push_back(std::make_unique<Movers>(file, way, kThreads));
  return rates(movers, budget).front();
}

/// Every piece once: what was never written reads as zeros without touching the disk.
void fill(ScratchFile& file) {
  const AlignedMemory memory{Bytes(kPiece)};
  std::uint64_t counter = 1;
  for (std::uint64_t& word : memory.as<std::uint64_t>()) word = mixed(counter++);
  for (std::int64_t piece = 0; piece < file.pieces(); ++piece) {
    file.move(Way::write, piece, memory.as<std::byte>().data());
  }
  file.flush();
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

DiskRates measure_disk(const DiskBenchOptions& options) {
  std::error_code error;
  const auto space = std::filesystem::space(options.folder, error);
  Bytes size = options.file;
  if (!error) {
    size = std::min(size, Bytes(static_cast<std::int64_t>(space.available / 4)));
  }
  ScratchFile file(options.folder, size);
  fill(file);
  DiskRates rates_of;
  const std::string how = file.direct() ? "O_DIRECT, " : "page cache, ";
  rates_of.write = measured_fact(alone(file, Way::write, options.budget),
                                 how + "4 threads, pieces of 8 MiB, sustained");
  file.flush();
  rates_of.read = measured_fact(alone(file, Way::read, options.budget),
                                how + "4 threads, pieces of 8 MiB, sustained");
  std::vector<std::unique_ptr<Movers>> both;
  both.push_back(std::make_unique<Movers>(file, Way::read, kThreads / 2));
  both.push_back(std::make_unique<Movers>(file, Way::write, kThreads / 2));
  const std::vector<Samples> beside = rates(both, options.budget);
  rates_of.read_beside = measured_fact(beside[0], how + "while writing");
  rates_of.write_beside = measured_fact(beside[1], how + "while reading");
  if (!file.direct()) {
    rates_of.caveat =
        "the file system refuses O_DIRECT, so these are rates of the page cache: run "
        "the probe in a folder on the disk that training will use";
  }
  return rates_of;
}

}  // namespace sluice::profiler
