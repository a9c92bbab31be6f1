#include "profiler/probe/cuda/link_bench.hpp"

#include <algorithm>
#include <array>

#include "engine/cuda/copies/staged_copies.hpp"
#include "engine/cuda/runtime/check.hpp"
#include "engine/cuda/runtime/shared_memory.hpp"
#include "engine/cuda/runtime/stream_flags.hpp"
#include "profiler/probe/sampling.hpp"

namespace sluice::profiler {
namespace {

using engine::check_cuda;

void fill_with_noise(std::span<std::byte> bytes) {
  auto* words = reinterpret_cast<std::uint64_t*>(bytes.data());
  for (std::size_t i = 0; i < bytes.size() / sizeof(std::uint64_t); ++i) words[i] = mixed(i);
}

}  // namespace

LinkBench::LinkBench(Bytes buffer, ProbeMemory* supply)
    : buffer_(buffer),
      down_memory_(buffer, supply),
      up_memory_(buffer, supply),
      down_host_(down_memory_.as<std::byte>()),
      up_host_(up_memory_.as<std::byte>()),
      down_device_(allocate_device(buffer)),
      up_device_(random_bf16(buffer.count() / 2)) {
  fill_with_noise(down_host_.bytes());
}

std::optional<std::string> LinkBench::refusal() const {
  if (!down_host_.pinned()) return down_host_.refusal();
  if (!up_host_.pinned()) return up_host_.refusal();
  return std::nullopt;
}

void LinkBench::copy(CopyDirection direction, std::int64_t offset, Bytes bytes,
                     cudaStream_t stream) const {
  const auto size = static_cast<std::size_t>(bytes.count());
  if (direction == CopyDirection::h2d) {
    check_cuda(
        cudaMemcpyAsync(static_cast<std::byte*>(down_device_.get()) + offset,
                        down_host_.bytes().data() + offset, size, cudaMemcpyHostToDevice, stream),
        "a copy to the device");
  } else {
    check_cuda(cudaMemcpyAsync(up_host_.bytes().data() + offset,
                               static_cast<std::byte*>(up_device_.get()) + offset, size,
                               cudaMemcpyDeviceToHost, stream),
               "a copy from the device");
  }
}

std::vector<SizedRate> LinkBench::by_size(CopyDirection direction, Seconds budget_each) {
  const Stream stream = make_stream();
  const Event begin = make_event(EventUse::timing), end = make_event(EventUse::timing);
  std::vector<SizedRate> rates;
  for (std::int64_t bytes = 4096; bytes <= buffer_.count(); bytes *= 4) {
    std::int64_t offset = 0;
    const auto once = [&] {
      record(begin.get(), stream.get());
      copy(direction, offset, Bytes(bytes), stream.get());
      record(end.get(), stream.get());
      offset = offset + 2 * bytes <= buffer_.count() ? offset + bytes : 0;
      return elapsed(begin.get(), end.get());
    };
    (void)once();
    Samples samples;
    const Seconds started = read(Timer::wall);
    while (samples.size() < 3 ||
           (read(Timer::wall) - started < budget_each && samples.size() < 200)) {
      samples.push_back(once().count());
    }
    rates.push_back({static_cast<double>(bytes),
                     measured_rate(static_cast<double>(bytes), samples, "one copy at a time")});
  }
  return rates;
}

planner::MeasuredTime LinkBench::gap(CopyDirection direction) const {
  constexpr std::int64_t kCopies = 256;
  // Pieces are long enough that the CPU stays ahead.
  const Bytes piece = std::min(4_MiB, buffer_);
  const std::int64_t pieces = buffer_.count() / piece.count();
  const Stream stream = make_stream();
  const engine::StreamFlags flags(stream.get());
  engine::SharedMemory memory(sizeof(engine::EndFlag));
  auto* const flag = new (memory.data()) engine::EndFlag(0);
  std::vector<std::array<Event, 2>> around(kCopies);
  for (auto& [start, end] : around) {
    start = make_event(EventUse::timing);
    end = make_event(EventUse::timing);
  }
  for (std::int64_t i = 0; i < kCopies; ++i) {
    const auto& [start, end] = around[static_cast<std::size_t>(i)];
    record(start.get(), stream.get());
    copy(direction, i % pieces * piece.count(), piece, stream.get());
    record(end.get(), stream.get());
    flags.write(stream.get(), flag, i + 1);
  }
  wait(stream.get());
  Samples gaps;
  for (std::size_t i = 1; i < around.size(); ++i) {
    gaps.push_back(elapsed(around[i - 1][1].get(), around[i][0].get()).count());
  }
  return measured_time(gaps, "of 4 MiB, with the events and flags of a run's queues");
}

std::unique_ptr<SteadyLoad> LinkBench::steady(CopyDirection direction) {
  const Bytes piece = std::min(kPiece, buffer_);
  const std::int64_t pieces = buffer_.count() / piece.count();
  return std::make_unique<SteadyLoad>(
      [this, direction, piece, pieces](cudaStream_t stream, std::int64_t repetition) {
        copy(direction, repetition % pieces * piece.count(), piece, stream);
      });
}

planner::Bandwidth staged_copy_rate(Bytes bytes, Seconds budget) {
  const Stream stream = make_stream();
  engine::StagedCopies copies(stream.get());
  const AlignedMemory host(bytes);
  fill_with_noise(host.as<std::byte>());
  const DeviceMemory device = allocate_device(bytes);
  auto* const memory = static_cast<std::byte*>(device.get());
  const auto size = static_cast<std::size_t>(bytes.count());
  const std::string note = "through a pinned ring, memory that is not pinned";
  const planner::Bandwidth down = measured_rate(
      bytes,
      time_repeatedly(Timer::wall, budget / 2,
                      [&] { copies.to_device(host.as<std::byte>().data(), memory, size); }),
      note);
  const planner::Bandwidth up = measured_rate(
      bytes,
      time_repeatedly(Timer::wall, budget / 2,
                      [&] { copies.to_host(memory, host.as<std::byte>().data(), size); }),
      note);
  return mean_of_directions(down, up);
}

}  // namespace sluice::profiler
