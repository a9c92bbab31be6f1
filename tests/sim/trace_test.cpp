#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sim/simulated_trace.hpp"
#include "sim/trace_file.hpp"
#include "sim/trace_json.hpp"
#include "tests/sim/random_graph.hpp"
#include "tests/sim/system.hpp"

namespace sluice::sim {
namespace {

Trace two_spans() {
  return {{{.id = "s1/load",
            .lane = "h2d",
            .kind = "load_weights",
            .start = Instant(Duration(0)),
            .end = Instant(Duration(1234)),
            .bytes = Bytes(1 << 20),
            .source = SpanSource::clock},
           {.id = "s1/fwd",
            .lane = "compute",
            .kind = "forward",
            .start = Instant(Duration(1234)),
            .end = Instant(Duration(1'000'000'001)),
            .bytes = Bytes(0),
            .source = SpanSource::cupti}}};
}

TEST(TraceFile, ReadsBackToTheNanosecond) {
  const std::string text = write_trace(two_spans());
  const Trace again = read_trace(text, "t");
  ASSERT_EQ(again.spans.size(), 2U);
  EXPECT_EQ(again.spans[1].end, Instant(Duration(1'000'000'001)));
  EXPECT_EQ(again.spans[0].bytes, Bytes(1 << 20));
  EXPECT_EQ(again.spans[0].source, SpanSource::clock);
  EXPECT_EQ(write_trace(again), text);
}

TEST(TraceFile, ASimulatedTraceReadsBackToItself) {
  const TaskGraph graph = random_graph(7, {.pools = false});
  const std::string text = write_trace(simulated_trace(graph, simulate(graph)));
  EXPECT_EQ(write_trace(read_trace(text, "t")), text);
}

TEST(TraceFile, RefusesWhatCannotBe) {
  const auto refused = [](const char* fields) {
    return refusal([&] {
      (void)read_trace(
          std::string(R"({"tasks": [{"id": "x", "lane": "a", "kind": "k", )") + fields + "}]}",
          "t.json");
    });
  };
  EXPECT_EQ(refused(R"("start_s": 2, "end_s": 1, "bytes": 0, "source": "clock")"),
            "t.json: tasks[0]: end_s: task \"x\" ends before it starts");
  EXPECT_EQ(refused(R"("start_s": 0, "end_s": 1, "bytes": 0, "source": "clok")"),
            "t.json: tasks[0]: source: unknown source \"clok\"; did you mean \"clock\"?");
  EXPECT_EQ(refused(R"("start_s": 0, "end_s": 1, "bytes": -1, "source": "clock")"),
            "t.json: tasks[0]: bytes: must not be negative");
}

TEST(ChromeTrace, LanesAreThreadsAndTracesProcesses) {
  const auto json = nlohmann::json::parse(
      write_chrome_trace({{"predicted", two_spans(), {{"link dram", Instant(Duration(5)), 1.5}}},
                          {"measured", two_spans()}}));
  std::size_t tasks = 0;
  for (const auto& event : json["traceEvents"]) {
    if (event["ph"] == "C") {
      EXPECT_EQ(event["args"]["value"], 1.5);
    }
    if (event["ph"] != "X") continue;
    ++tasks;
    EXPECT_EQ(event["tid"], event["name"] == "s1/load" ? 1 : 2);
    if (event["name"] == "s1/load") {
      EXPECT_EQ(event["dur"], 1.234);  // microseconds
    }
  }
  EXPECT_EQ(tasks, 4U);
}

}  // namespace
}  // namespace sluice::sim
