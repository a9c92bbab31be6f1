#include "sim/trace_file.hpp"

#include <cstdio>
#include <cstdlib>
#include <unordered_map>

#include "sim/json_text.hpp"
#include "sim/trace_json.hpp"

namespace sluice::sim {
namespace {

/// Microseconds with three decimals, which is the format's unit to the nanosecond.
std::string microseconds(Duration duration) {
  const std::int64_t ns = duration.count();
  char text[40];
  std::snprintf(text, sizeof text, "%s%lld.%03lld", ns < 0 ? "-" : "",
                static_cast<long long>(std::abs(ns) / 1000),
                static_cast<long long>(std::abs(ns) % 1000));
  return text;
}

/// Appends the events of one trace as process `pid`.
class ProcessWriter {
 public:
  ProcessWriter(std::string& text, JsonSeparator& separator, std::size_t pid)
      : text_(text), separator_(separator), pid_("\"pid\": " + std::to_string(pid)) {}

  void write(const NamedTrace& named) {
    name_row("process_name", "", named.name);
    std::unordered_map<std::string, std::size_t> threads;
    for (const TraceSpan& span : named.trace.spans) {
      const auto [thread, fresh] = threads.emplace(span.lane, threads.size() + 1);
      const std::string tid = ", \"tid\": " + std::to_string(thread->second);
      if (fresh) name_lane(tid, thread->second, span.lane);
      event("{\"ph\": \"X\", " + pid_ + tid +
            ", \"ts\": " + microseconds(span.start.time_since_epoch()) +
            ", \"dur\": " + microseconds(span.end - span.start) +
            ", \"name\": " + json_string(span.id) + ", \"cat\": " + json_string(span.kind) +
            ", \"args\": {\"bytes\": " + std::to_string(span.bytes.count()) + ", \"source\": \"" +
            std::string(source_name(span.source)) + "\"}}");
    }
    for (const CounterSample& sample : named.counters) {
      event("{\"ph\": \"C\", " + pid_ + ", \"ts\": " + microseconds(sample.at.time_since_epoch()) +
            ", \"name\": " + json_string(sample.counter) +
            ", \"args\": {\"value\": " + json_number(sample.value) + "}}");
    }
  }

 private:
  void event(const std::string& event) {
    text_ += separator_.next();
    text_ += event;
  }
  void name_row(const char* what, const std::string& tid, const std::string& name) {
    event(std::string("{\"ph\": \"M\", ") + pid_ + tid + ", \"name\": \"" + what +
          "\", \"args\": {\"name\": " + json_string(name) + "}}");
  }
  void name_lane(const std::string& tid, std::size_t order, const std::string& lane) {
    name_row("thread_name", tid, lane);
    event("{\"ph\": \"M\", " + pid_ + tid +
          ", \"name\": \"thread_sort_index\", \"args\": {\"sort_index\": " + std::to_string(order) +
          "}}");
  }

  std::string& text_;
  JsonSeparator& separator_;
  std::string pid_;
};

}  // namespace

std::string write_chrome_trace(const std::vector<NamedTrace>& traces) {
  std::string text = "{\"displayTimeUnit\": \"ns\",\n \"traceEvents\": [";
  JsonSeparator separator(",\n  ");
  for (std::size_t i = 0; i < traces.size(); ++i) {
    ProcessWriter(text, separator, i + 1).write(traces[i]);
  }
  return text + "]}\n";
}

}  // namespace sluice::sim
