#include "engine/cuda/copies/stream_pacer.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <stop_token>
#include <utility>

#include "engine/cuda/runtime/check.hpp"
#include "engine/execution/poll.hpp"

namespace sluice::engine {
namespace {

/// Real time for LinkGates, until `stop`.
struct ThreadTime {
  std::stop_token stop;
  [[nodiscard]] bool stopped() const { return stop.stop_requested(); }
  [[nodiscard]] static LinkSchedule::Instant now() { return std::chrono::steady_clock::now(); }
  static void sleep_until(LinkSchedule::Instant instant) { std::this_thread::sleep_until(instant); }
};

}  // namespace

StreamPacer::StreamPacer(cudaStream_t stream, BytesPerSecond rate)
    : stream_(stream),
      memory_(2 * sizeof(EndFlag)),
      reached_(new (memory_.data()) EndFlag(0)),
      opened_(new (memory_.data() + sizeof(EndFlag)) EndFlag(0)),
      flags_(stream),
      gates_(rate, reached_, opened_) {
  if (!flags_.can_wait()) {
    throw EnvironmentError(
        "limits.link: this driver lacks stream memory operations, by which copies are paced: "
        "leave it out, or update the driver");
  }
  thread_ = std::jthread([this](std::stop_token stop) {
    sleep_precisely();
    static_cast<void>(wake_first());
    ThreadTime time{std::move(stop)};
    gates_.open(time);
  });
}

StreamPacer::~StreamPacer() = default;

void StreamPacer::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::int32_t number = gates_.add(Bytes(static_cast<std::int64_t>(bytes)));
  flags_.write(stream_, reached_, number);
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t piece = std::min(static_cast<std::size_t>(LinkGates::kPiece), bytes - done);
    check_cuda(cudaMemcpyAsync(to + done, from + done, piece, cudaMemcpyDefault, stream_),
               "a copy");
    done += piece;
    flags_.write(stream_, reached_, ++number);
    flags_.wait(stream_, opened_, number);
  }
}

}  // namespace sluice::engine
