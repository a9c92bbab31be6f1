// Clock of passes that follow each other on a stream.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "profiler/probe/cuda/resources.hpp"
#include "profiler/probe/sampling.hpp"

namespace sluice::profiler {

/// Seconds of one pass: in a step's first micro-batch, whose gradients overwrite, and in the
/// others.
struct PassSamples {
  Samples first, later;
};
using SamplesByKey = std::map<std::string, PassSamples>;

/// Records an event behind each pass, so that a pass lasts from the event before it to its own. The
/// time between two events with nothing between them is taken off. One stream at a time.
class PassClock {
 public:
  enum class MicroBatch { first, later };

  /// Begins a series of passes: work enqueued before it is not timed.
  void begin(cudaStream_t stream);
  /// Ends the pass `key` that was enqueued since begin() or the last lap().
  void lap(cudaStream_t stream, const std::string& key, MicroBatch which = MicroBatch::later);
  /// Waits for all passes, adds their seconds to `samples`, and forgets them.
  void read(SamplesByKey& samples);

 private:
  cudaEvent_t next_event();

  struct Lap {
    std::string key;  ///< Pass that the event ends; empty where a series begins.
    MicroBatch which;
    cudaEvent_t event;
  };
  std::vector<Lap> laps_;
  std::vector<Event> events_;  ///< Events made so far; the first laps_.size() are in use.
};

}  // namespace sluice::profiler
