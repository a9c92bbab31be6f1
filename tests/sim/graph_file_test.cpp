#include "sim/graph_file.hpp"

#include <gtest/gtest.h>

#include "sim/json_object.hpp"
#include "sim/name_index.hpp"
#include "sim/nearest_name.hpp"
#include "tests/sim/random_graph.hpp"
#include "tests/sim/system.hpp"

namespace sluice::sim {
namespace {

constexpr const char* kExample = R"({"lanes": ["h2d", "compute"],
  "links": {"pcie_h2d": 55e9, "dram": 160e9},
  "pools": {"hbm": 80e9, "weight_buffer": 2},
  "interference": [{"on": "compute", "from": "h2d", "factor": 0.98}],
  "tasks": [{"id": "load0", "lane": "h2d", "after": [], "latency": 5e-6, "amount": 466e6, "cap": 55e9,
             "weight": 1, "uses": {"pcie_h2d": 1, "dram": 1}, "acquire": {"weight_buffer": 1}},
            {"id": "fwd0", "lane": "compute", "after": ["load0"], "seconds": 0.004,
             "release": {"weight_buffer": 1}}]})";

TEST(GraphFile, TheExampleOfTheContract) {
  const Timeline timeline = simulate(read_graph(kExample, "g.json"));
  // 5 us + 466e6 / 55e9 s = 8477.727... us, rounded up; then 4 ms with nothing beside it.
  EXPECT_EQ(timeline.spans[0].end, Instant(Duration(8'477'728)));
  EXPECT_EQ(timeline.makespan, Duration(12'477'728));
}

TEST(GraphFile, ReadingWhatWasWrittenGivesTheSameSimulation) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const TaskGraph graph = random_graph(seed);
    const std::string text = write_graph(graph);
    const TaskGraph again = read_graph(text, "again");
    EXPECT_EQ(write_graph(again), text);
    EXPECT_EQ(outcome(again), outcome(graph)) << "seed " << seed;
  }
}

TEST(GraphFile, KeepsAwkwardNamesAndNumbers) {
  System system({"lane \"1\"\\\n"}, {{"b/us,é", 1.0 / 3}});
  system.flow("\t", "lane \"1\"\\\n", {.amount = 0.1, .weight = 1e-300, .uses = {{"b/us,é", 1}}});
  const std::string text = write_graph(system.graph);
  EXPECT_EQ(write_graph(read_graph(text, "g")), text);
}

TEST(GraphFile, APeriodOfSeveralStepsIsTheirMean) {
  const auto graph_with = [](const std::string& steps) {
    return R"({"lanes": ["a"], "tasks": [{"id": "0", "lane": "a", "seconds": 1},
      {"id": "1", "lane": "a", "seconds": 1.5}, {"id": "2", "lane": "a", "seconds": 2.000000001}],
      "period": ["0", "2"])" +
           steps + "}";
  };
  const TaskGraph two = read_graph(graph_with(", \"period_steps\": 2"), "g.json");
  EXPECT_EQ(period_of(two, simulate(two)), Duration(1'750'000'000));  // Rounded down.
  EXPECT_EQ(write_graph(read_graph(write_graph(two), "again")), write_graph(two));
  const TaskGraph one = read_graph(graph_with(""), "g.json");
  EXPECT_EQ(period_of(one, simulate(one)), Duration(3'500'000'001));
  EXPECT_EQ(write_graph(one).find("period_steps"), std::string::npos);
  EXPECT_NE(refusal([&] {
              (void)read_graph(graph_with(", \"period_steps\": 0"), "g");
            }).find("period_steps"),
            std::string::npos);
}

TEST(Override, SetsOrScalesACapacity) {
  TaskGraph graph = read_graph(kExample, "g.json");
  apply_override(graph, "links.dram=0.5x");
  EXPECT_EQ(graph.links()[1].capacity, Rate(80e9));
  apply_override(graph, "links.dram=40e9,links.pcie_h2d=2x,pools.weight_buffer=1");
  EXPECT_EQ(graph.links()[1].capacity, Rate(40e9));
  EXPECT_EQ(graph.links()[0].capacity, Rate(110e9));
  EXPECT_EQ(graph.pools()[1].capacity, Amount(1));
}

TEST(Override, IsRefusedByName) {
  TaskGraph graph = read_graph(kExample, "g.json");
  const auto refused = [&graph](const char* text) {
    return refusal([&] { apply_override(graph, text); });
  };
  EXPECT_EQ(refused("links.dramm=1x"),
            "--set links.dramm=1x: unknown link \"dramm\"; did you mean \"dram\"?");
  EXPECT_EQ(refused("pool.hbm=1x"),
            "--set pool.hbm=1x: unknown path \"pool\"; did you mean \"pools\"?");
  EXPECT_EQ(
      refused("links.dram"),
      "--set links.dram: write links.NAME=VALUE or pools.NAME=VALUE, VALUE as in 80e9 or 0.5x");
  EXPECT_EQ(
      refused("links.dram=80 GB/s"),
      "--set links.dram=80 GB/s: the value must be a number such as 80e9 or a factor such as 0.5x");
  EXPECT_EQ(refused("links.dram=0x"), "--set links.dram=0x: the value must be above 0");
}

TEST(NearestName, CountsSwapsAndIgnoresCase) {
  EXPECT_EQ(edit_distance("after", "aftre"), 1U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(nearest_name("ADAM", std::vector<std::string>{"cap", "adam"}), "adam");
  EXPECT_EQ(did_you_mean("x", std::vector<std::string>{}), "");
  const std::vector<std::string> keys{"do_eval", "seq_len"};
  EXPECT_EQ(did_you_mean("foo.bar", keys), "");
  EXPECT_EQ(did_you_mean("sqe_len", keys), "; did you mean \"seq_len\"?");
  const std::vector<std::string> machines{"rtx-4090-laptop", "h200", "rtx-4090"};
  EXPECT_EQ(did_you_mean("4090", machines), "; did you mean \"rtx-4090\"?");
  EXPECT_EQ(did_you_mean("4090", std::vector<std::string>{"rtx-3090-ti", "threadripper"}), "");
}

TEST(NameIndex, FindsEachNameAtItsPositionAndNoOther) {
  std::vector<std::string> names{""};
  for (int i = 1; i < 20000; ++i) names.push_back("task" + std::to_string(i));
  NameIndex index(names.size());
  for (const std::string& name : names) EXPECT_TRUE(index.add(name));
  for (std::uint32_t i = 0; i < names.size(); ++i) EXPECT_EQ(index.find(names[i]), i);
  EXPECT_FALSE(index.add("task19999"));
  EXPECT_FALSE(index.add(""));
  EXPECT_EQ(index.find("task20000"), std::nullopt);
  EXPECT_EQ(index.names().size(), names.size());
  EXPECT_EQ(NameIndex(0).find("a"), std::nullopt);
}

TEST(JsonObject, RefusesTheWrongType) {
  const JsonDocument json = parse_json(R"({"n": 1.5, "s": "x", "l": [1], "none": null})", "f");
  const JsonObject object(json, "f");
  EXPECT_EQ(object.number("n"), 1.5);
  EXPECT_FALSE(object.has("none"));
  EXPECT_EQ(refusal([&] { (void)object.integer("n"); }), "f: n: must be a whole number, not 1.5");
  EXPECT_EQ(refusal([&] { (void)object.text("n"); }), "f: n: must be a string, not 1.5");
  EXPECT_EQ(refusal([&] { (void)object.number("s"); }), "f: s: must be a finite number, not \"x\"");
  EXPECT_EQ(refusal([&] { (void)object.texts("l"); }),
            "f: l: must be a list of strings, but holds 1");
  EXPECT_EQ(refusal([&] { (void)object.object("l"); }),
            "f: l: must be an object {...}, not a list");
  EXPECT_EQ(refusal([&] { (void)object.number("none"); }), "f: \"none\" is missing; add it");
}

TEST(TextFile, NamesAFileThatCannotBeRead) {
  EXPECT_EQ(refusal([] { (void)read_text_file("/no/such/file"); }),
            "cannot read /no/such/file: No such file or directory; give the path of a file");
  EXPECT_EQ(refusal([] { (void)read_text_file("/"); }),
            "cannot read /: it is a folder; give the path of a file");
}

}  // namespace
}  // namespace sluice::sim
