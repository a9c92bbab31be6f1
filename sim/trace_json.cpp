#include "sim/trace_json.hpp"

#include <array>
#include <cmath>

#include "sim/error.hpp"
#include "sim/json_object.hpp"
#include "sim/json_text.hpp"
#include "sim/nearest_name.hpp"

namespace sluice::sim {
namespace {

constexpr std::array<std::string_view, 4> kSources{"simulated", "cupti", "event", "clock"};

Instant read_instant(const JsonObject& json, std::string_view key) {
  const double ns = json.number(key) * 1e9;
  constexpr double kFarthest = 9e18;
  if (std::abs(ns) > kFarthest) json.fail(key, "lies beyond 285 years; give it in seconds");
  return Instant(Duration(std::llround(ns)));
}

TraceSpan read_span(const JsonObject& json) {
  json.refuse_unknown({"id", "lane", "kind", "start_s", "end_s", "bytes", "source"});
  TraceSpan span;
  span.id = json.text("id");
  span.lane = json.text("lane");
  span.kind = json.text("kind");
  span.start = read_instant(json, "start_s");
  span.end = read_instant(json, "end_s");
  if (span.end < span.start) json.fail("end_s", "task \"" + span.id + "\" ends before it starts");
  span.bytes = Bytes(json.integer("bytes"));
  if (span.bytes < Bytes(0)) json.fail("bytes", "must not be negative");
  const std::string source = json.text("source");
  for (std::size_t i = 0; i < kSources.size(); ++i) {
    if (kSources[i] != source) continue;
    span.source = static_cast<SpanSource>(i);
    return span;
  }
  json.fail("source", "unknown source \"" + source + "\"" +
                          did_you_mean(source, std::span<const std::string_view>(kSources)));
}

}  // namespace

std::string_view source_name(SpanSource source) {
  return kSources[static_cast<std::size_t>(source)];
}

std::string write_trace(const Trace& trace) {
  std::string text = "{\"version\": 1,\n \"tasks\": [";
  JsonSeparator separator(",\n  ");
  for (const TraceSpan& span : trace.spans) {
    text += separator.next();
    text += "{\"id\": ";
    append_json_string(text, span.id);
    text += ", \"lane\": ";
    append_json_string(text, span.lane);
    text += ", \"kind\": ";
    append_json_string(text, span.kind);
    text += ", \"start_s\": ";
    append_json_seconds(text, span.start.time_since_epoch());
    text += ", \"end_s\": ";
    append_json_seconds(text, span.end.time_since_epoch());
    text += ", \"bytes\": ";
    text += std::to_string(span.bytes.count());
    text += ", \"source\": \"";
    text += source_name(span.source);
    text += "\"}";
  }
  return text += "]}\n";
}

Trace read_trace(std::string_view json, std::string_view where) {
  const JsonDocument parsed = parse_json(json, where);
  const JsonObject file(parsed, std::string(where));
  file.refuse_unknown({"version", "tasks"});
  if (file.find_integer("version").value_or(1) != 1) {
    file.fail("version", "this program reads version 1");
  }
  Trace trace;
  const JsonObjects tasks = file.objects("tasks");
  trace.spans.reserve(tasks.size());
  for (const JsonObject& task : tasks) trace.spans.push_back(read_span(task));
  return trace;
}

}  // namespace sluice::sim
