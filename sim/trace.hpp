// A trace: spans by task id, predicted or measured; both executors write this type.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/units.hpp"

namespace sluice::sim {

/// Source of the instants of a span.
enum class SpanSource : std::uint8_t { simulated, cupti, event, clock };

struct TraceSpan {
  std::string id;  ///< Task id, equal in predicted and measured traces.
  std::string lane;
  std::string kind;  ///< Task kind ("forward", "load_weights", ...).
  Instant start;
  Instant end;
  Bytes bytes;  ///< Bytes moved by the task; zero for compute.
  SpanSource source = SpanSource::simulated;
};

/// Spans in the order of the step graph's file.
struct Trace {
  std::vector<TraceSpan> spans;
};

}  // namespace sluice::sim
