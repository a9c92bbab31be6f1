#include "profiler/probe/cuda/kernel_timer.hpp"

#include <algorithm>
#include <cmath>

namespace sluice::profiler {
namespace {

constexpr Seconds kRow{1e-3};
constexpr int kMostRepeats = 200;

int repeats_for(Seconds once, Seconds row) {
  return static_cast<int>(std::clamp(std::ceil(row / std::max(once, Seconds(1e-6))), 1.0,
                                     static_cast<double>(kMostRepeats)));
}

}  // namespace

KernelTimer::KernelTimer()
    : stream_(make_stream()),
      begin_(make_event(EventUse::timing)),
      end_(make_event(EventUse::timing)) {}

Seconds KernelTimer::row(const Launch& work, int repeats) {
  work(stream());  // Keeps the device busy while the others are enqueued.
  record(begin_.get(), stream());
  for (int i = 0; i < repeats; ++i) work(stream());
  record(end_.get(), stream());
  return elapsed(begin_.get(), end_.get()) / repeats;
}

Samples KernelTimer::samples(const Launch& work, Seconds budget) {
  const int repeats = repeats_for(row(work, 1), kRow);
  Samples samples;
  const Seconds started = read(Timer::wall);
  while (samples.size() < 3 || read(Timer::wall) - started < budget) {
    samples.push_back(row(work, repeats).count());
  }
  return samples;
}

void KernelTimer::settle(const Launch& work, Seconds most) {
  constexpr Seconds kQuarter{0.25};
  constexpr double kSettled = 0.005;
  const int repeats = repeats_for(row(work, 1), 10 * kRow);
  const Seconds started = read(Timer::wall);
  double before = 0;
  while (read(Timer::wall) - started < most) {
    Samples window;
    const Seconds opened = read(Timer::wall);
    while (read(Timer::wall) - opened < kQuarter) window.push_back(row(work, repeats).count());
    const double now = median(window);
    if (before > 0 && std::abs(now / before - 1) < kSettled) return;
    before = now;
  }
}

}  // namespace sluice::profiler
