#include "profiler/probe/cuda/pass_clock.hpp"

#include <algorithm>

namespace sluice::profiler {
namespace {

/// Key of the time between two events with nothing between them.
constexpr const char* kNothing = "nothing";

}  // namespace

cudaEvent_t PassClock::next_event() {
  if (laps_.size() == events_.size()) events_.push_back(make_event(EventUse::timing));
  return events_[laps_.size()].get();
}

void PassClock::begin(cudaStream_t stream) {
  for (const char* key : {"", kNothing}) lap(stream, key);
}

void PassClock::lap(cudaStream_t stream, const std::string& key, MicroBatch which) {
  const cudaEvent_t event = next_event();
  record(event, stream);
  laps_.push_back({key, which, event});
}

void PassClock::read(SamplesByKey& samples) {
  if (laps_.empty()) return;
  wait(laps_.back().event);
  Samples nothing;
  for (std::size_t i = 1; i < laps_.size(); ++i) {
    if (laps_[i].key == kNothing) {
      nothing.push_back(elapsed(laps_[i - 1].event, laps_[i].event).count());
    }
  }
  const double empty = nothing.empty() ? 0 : median(nothing);
  for (std::size_t i = 1; i < laps_.size(); ++i) {
    const Lap& lap = laps_[i];
    if (lap.key.empty() || lap.key == kNothing) continue;
    const double seconds = elapsed(laps_[i - 1].event, lap.event).count();
    PassSamples& all = samples[lap.key];
    Samples& of = lap.which == MicroBatch::first ? all.first : all.later;
    of.push_back(std::max(seconds - empty, seconds / 2));
  }
  laps_.clear();
}

}  // namespace sluice::profiler
