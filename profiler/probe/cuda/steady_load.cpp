#include "profiler/probe/cuda/steady_load.hpp"

#include <array>
#include <utility>

#include "engine/cuda/runtime/check.hpp"
#include "profiler/probe/cuda/resources.hpp"
#include "profiler/probe/curves.hpp"
#include "profiler/probe/sampling.hpp"

namespace sluice::profiler {
namespace {

/// Number of repetitions that are enqueued beyond the one that runs.
constexpr std::size_t kAhead = 6;

int current_device() {
  int device = 0;
  engine::check_cuda(cudaGetDevice(&device), "the current device");
  return device;
}

}  // namespace

SteadyLoad::SteadyLoad(Enqueue enqueue)
    : enqueue_(std::move(enqueue)), device_(current_device()), thread_([this] { run(); }) {}

SteadyLoad::~SteadyLoad() {
  stop_.store(true);
  if (thread_.joinable()) thread_.join();
}

void SteadyLoad::stop() {
  stop_.store(true);
  if (thread_.joinable()) thread_.join();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void SteadyLoad::run() {
  try {
    engine::check_cuda(cudaSetDevice(device_), "the load's device");
    const Stream stream = make_stream();
    std::array<Event, kAhead> ends;
    for (Event& end : ends) end = make_event(EventUse::waiting);
    const auto note_end = [&](std::int64_t repetition) {
      wait(ends[static_cast<std::size_t>(repetition) % kAhead].get());
      ends_.push_back(read(Timer::wall).count());
    };
    std::int64_t repetition = 0;
    for (; !stop_.load(std::memory_order_relaxed); ++repetition) {
      if (repetition >= static_cast<std::int64_t>(kAhead)) {
        note_end(repetition - static_cast<std::int64_t>(kAhead));
      }
      enqueue_(stream.get(), repetition);
      record(ends[static_cast<std::size_t>(repetition) % kAhead].get(), stream.get());
    }
    wait(stream.get());
  } catch (...) {
    error_ = std::current_exception();
  }
}

double SteadyLoad::repetitions_per_second(Seconds from, Seconds to) const {
  return rate_within(ends_, from.count(), to.count());
}

}  // namespace sluice::profiler
