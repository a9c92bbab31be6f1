// A trace: spans by task id, predicted or measured; both executors write this type.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/units.hpp"

namespace sluice::sim {

/// Clock that gave a span's instants: the simulation's; that of CUPTI's records of the device; that
/// of events recorded on the device (`event`); or that of the processor (`clock`).
enum class SpanSource : std::uint8_t { simulated, cupti, event, clock };

struct TraceSpan {
  std::string id;  ///< Id of the task, which is the same in predicted and measured traces.
  std::string lane;
  std::string kind;  ///< Kind of the task, such as "forward" or "load_weights".
  Instant start;
  Instant end;
  Bytes bytes;  ///< Bytes that the task moved; zero for a computation.
  SpanSource source = SpanSource::simulated;
};

/// Spans of one simulated or measured run, in the order in which the step graph has its tasks.
struct Trace {
  std::vector<TraceSpan> spans;
};

}  // namespace sluice::sim
