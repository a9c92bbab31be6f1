// Reader and writer of trace files: CONTRACTS (docs/contracts.md), "Trace";
// docs/schemas/trace.schema.json.
#pragma once

#include <string>
#include <string_view>

#include "sim/trace.hpp"

namespace sluice::sim {

/// Name that trace files have for a source: "simulated", "cupti", "event" or "clock".
[[nodiscard]] std::string_view source_name(SpanSource source);

/// Text of a trace file, `{"version": 1, "tasks": [{id, lane, kind, start_s, end_s, bytes, source},
/// ...]}`. Reading it gives the same nanoseconds, up to 104 days.
[[nodiscard]] std::string write_trace(const Trace& trace);

/// Reads a trace file's text. Throws BadRequest that begins with `where` (the file's name) and
/// names the task and field.
[[nodiscard]] Trace read_trace(std::string_view json, std::string_view where);

}  // namespace sluice::sim
