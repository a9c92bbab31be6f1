#include "engine/cuda/stream_pacer.hpp"

#include <algorithm>
#include <new>

#include "engine/cuda/check.hpp"
#include "engine/poll.hpp"

namespace sluice::engine {
namespace {

/// Short beside what a layer's copy takes, long enough that gates cost nothing.
constexpr std::size_t kPiece = std::size_t{16} << 20;

using Clock = std::chrono::steady_clock;

}  // namespace

StreamPacer::StreamPacer(cudaStream_t stream, BytesPerSecond rate)
    : stream_(stream),
      seconds_per_byte_(1 / rate.count()),
      memory_(2 * sizeof(EndFlag)),
      reached_(new (memory_.data()) EndFlag(0)),
      released_(new (memory_.data() + sizeof(EndFlag)) EndFlag(0)),
      flags_(stream) {
  if (!flags_.can_wait()) {
    throw EnvironmentError(
        "limits.link: this driver lacks stream memory operations, by which copies are paced: "
        "leave it out, or update the driver");
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { let_go(stop); });
}

StreamPacer::~StreamPacer() = default;

void StreamPacer::add_gate(Gate gate) {
  {
    const std::lock_guard lock(mutex_);
    gates_.push_back(gate);
  }
  ++added_;
  flags_.write(stream_, reached_, added_);
  flags_.wait(stream_, released_, added_);
}

void StreamPacer::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  add_gate({0, true});
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t piece = std::min(kPiece, bytes - done);
    check_cuda(cudaMemcpyAsync(to + done, from + done, piece, cudaMemcpyDefault, stream_),
               "a copy");
    add_gate({piece, false});
    done += piece;
  }
}

void StreamPacer::let_go(const std::stop_token& stop) {
  sleep_precisely();
  Clock::time_point due = Clock::now();
  for (std::int32_t next = 1;; ++next) {
    poll(
        [&] { return stop.stop_requested() || reached_->load(std::memory_order_acquire) >= next; });
    if (stop.stop_requested()) return;
    Gate gate{};
    {
      const std::lock_guard lock(mutex_);
      gate = gates_.front();
      gates_.pop_front();
    }
    if (gate.first) due = std::max(due, Clock::now());
    const Seconds takes(static_cast<double>(gate.bytes) * seconds_per_byte_);
    due += std::chrono::duration_cast<Clock::duration>(takes);
    std::this_thread::sleep_until(due);
    released_->store(next, std::memory_order_release);
  }
}

}  // namespace sluice::engine
