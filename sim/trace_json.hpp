// Trace files: CONTRACTS (docs/contracts.md), "Trace"; docs/schemas/trace.schema.json.
#pragma once

#include <string>
#include <string_view>

#include "sim/trace.hpp"

namespace sluice::sim {

/// "simulated", "cupti", "event" or "clock".
[[nodiscard]] std::string_view source_name(SpanSource source);

/// `{"version": 1, "tasks": [{id, lane, kind, start_s, end_s, bytes, source}, ...]}`; reads back to
/// the same nanoseconds (up to 104 days).
[[nodiscard]] std::string write_trace(const Trace& trace);

/// Throws BadRequest `WHERE: ...` naming the task and field.
[[nodiscard]] Trace read_trace(std::string_view json, std::string_view where);

}  // namespace sluice::sim
