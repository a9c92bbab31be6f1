// Every kind of graph that is refused, with the line that says why.
#include <gtest/gtest.h>

#include "sim/graph_file.hpp"
#include "tests/sim/system.hpp"

namespace sluice::sim {
namespace {

/// Refusal of a file with one lane `a`, link `bus`, pool `slots` and the given tasks.
std::string refused_tasks(const std::string& tasks) {
  const std::string text = R"({"lanes": ["a", "b"], "links": {"bus": 10}, "pools": {"slots": 2},
                               "tasks": [)" +
                           tasks + "]}";
  return refusal([&text] { (void)simulate(read_graph(text, "g.json")); });
}
std::string refused(const std::string& text) {
  return refusal([&text] { (void)simulate(read_graph(text, "g.json")); });
}

struct Case {
  const char* name;
  const char* tasks;
  const char* message;
};

class RefusedTask : public testing::TestWithParam<Case> {};

TEST_P(RefusedTask, NamesTheTaskAndTheFix) {
  EXPECT_EQ(refused_tasks(GetParam().tasks), GetParam().message);
}

const Case kCases[] = {
    {"Cycle",
     R"({"id": "x", "lane": "a", "after": ["y"], "seconds": 1}, {"id": "y", "lane": "b", "after": ["x"], "seconds": 1})",
     "g.json: cycle: task \"x\" waits for \"y\" waits for \"x\"; drop one of these \"after\" "
     "entries"},
    {"SelfCycle", R"({"id": "x", "lane": "a", "after": ["x"], "seconds": 1})",
     "g.json: cycle: task \"x\" waits for \"x\"; drop one of these \"after\" entries"},
    {"LaneOrderDeadlock",
     R"({"id": "x", "lane": "a", "after": ["y"], "seconds": 1}, {"id": "y", "lane": "a", "seconds": 1})",
     "g.json: deadlock: task \"x\" waits for \"y\" comes in lane \"a\" behind \"x\"; reorder the "
     "lane or drop one \"after\""},
    {"PoolDeadlock",
     R"({"id": "x", "lane": "a", "seconds": 1, "acquire": {"slots": 2}}, {"id": "y", "lane": "b", "seconds": 1, "acquire": {"slots": 1}})",
     "deadlock at 1.000000 s: task \"y\" waits for pool \"slots\" (needs 1, 2 of 2 held) and "
     "nothing "
     "that runs will release it; give the pool more or release earlier"},
    {"PoolTooSmall", R"({"id": "x", "lane": "a", "seconds": 1, "acquire": {"slots": 3}})",
     "g.json: deadlock: task \"x\": waits for ever for 3 of pool \"slots\", which holds 2; enlarge "
     "the pool or acquire less"},
    {"NeitherCapNorUses", R"({"id": "x", "lane": "a", "amount": 5})",
     "g.json: task \"x\": has an amount with neither cap nor uses, so nothing limits its rate; add "
     "one"},
    {"UsesOfZero", R"({"id": "x", "lane": "a", "amount": 5, "uses": {"bus": 0}})",
     "g.json: task \"x\": has an amount with neither cap nor uses, so nothing limits its rate; add "
     "one"},
    {"ZeroCap", R"({"id": "x", "lane": "a", "amount": 5, "cap": 0})",
     "g.json: task \"x\": cap: must be above 0, is 0; leave it out for no cap"},
    {"ZeroWeight", R"({"id": "x", "lane": "a", "amount": 5, "cap": 1, "weight": 0})",
     "g.json: task \"x\": weight: must be above 0, is 0; leave it out for 1"},
    {"NegativeAmount", R"({"id": "x", "lane": "a", "amount": -5, "cap": 1})",
     "g.json: task \"x\": amount: must not be negative, is -5"},
    {"NegativeSeconds", R"({"id": "x", "lane": "a", "seconds": -0.5})",
     "g.json: task \"x\": seconds: must not be negative, is -0.5"},
    {"NegativeLatency", R"({"id": "x", "lane": "a", "seconds": 1, "latency": -1})",
     "g.json: task \"x\": latency: must not be negative, is -1"},
    {"NegativeUse", R"({"id": "x", "lane": "a", "amount": 5, "cap": 1, "uses": {"bus": -1}})",
     "g.json: task \"x\": uses of link \"bus\": must not be negative, is -1"},
    {"NegativeAcquire", R"({"id": "x", "lane": "a", "seconds": 1, "acquire": {"slots": -1}})",
     "g.json: task \"x\": acquire of pool \"slots\": must not be negative, is -1"},
    {"NotANumber", R"({"id": "x", "lane": "a", "seconds": NaN})",
     "g.json: task \"x\": seconds: must be a finite number, not NaN"},
    {"TooLargeANumber", R"({"amount": 1e999, "id": "x", "lane": "a", "cap": 1})",
     "g.json: task \"x\": amount: must be a finite number, not 1e999"},
    {"ANumberInQuotes", R"({"id": "x", "lane": "a", "seconds": "4 ms"})",
     "g.json: task \"x\": seconds: must be a finite number, not \"4 ms\""},
    {"UnknownLane", R"({"id": "x", "lane": "aa", "seconds": 1})",
     "g.json: task \"x\": unknown lane \"aa\"; did you mean \"a\"?"},
    {"UnknownLink", R"({"id": "x", "lane": "a", "amount": 1, "uses": {"buss": 1}})",
     "g.json: task \"x\": uses: unknown link \"buss\"; did you mean \"bus\"?"},
    {"UnknownPool", R"({"id": "x", "lane": "a", "seconds": 1, "release": {"slot": 1}})",
     "g.json: task \"x\": release: unknown pool \"slot\"; did you mean \"slots\"?"},
    {"UnknownTask", R"({"id": "load1", "lane": "a", "seconds": 1, "after": ["laod1"]})",
     "g.json: task \"load1\": after: unknown task \"laod1\"; did you mean \"load1\"?"},
    {"UnknownKey", R"({"id": "x", "lane": "a", "ammount": 1})",
     "g.json: task \"x\": unknown key \"ammount\"; did you mean \"amount\"?"},
    {"DuplicateId",
     R"({"id": "x", "lane": "a", "seconds": 1}, {"id": "x", "lane": "b", "seconds": 1})",
     "g.json: task \"x\": this id is given twice; rename one"},
    {"BothKindsOfWork", R"({"id": "x", "lane": "a", "seconds": 1, "amount": 1})",
     "g.json: task \"x\": has both seconds and amount; keep one"},
    {"NoWork", R"({"id": "x", "lane": "a"})",
     "g.json: task \"x\": needs seconds or amount; add one"},
    {"SecondsWithUses", R"({"id": "x", "lane": "a", "seconds": 1, "uses": {"bus": 1}})",
     "g.json: task \"x\": uses: a task with seconds has neither cap nor uses; give it an amount "
     "instead, or drop it"},
    {"SecondsWithCap", R"({"id": "x", "lane": "a", "seconds": 1, "cap": 1})",
     "g.json: task \"x\": cap: a task with seconds has neither cap nor uses; give it an amount "
     "instead, or drop it"},
    {"ReleaseOfMoreThanIsEverAcquired",
     R"({"id": "x", "lane": "a", "seconds": 1, "acquire": {"slots": 1}, "release": {"slots": 2}})",
     "g.json: task \"x\": pool \"slots\" has 2 released by this and other tasks but only 1 "
     "acquired; "
     "release what is held"},
    {"ReleaseBeforeAcquire",
     R"({"id": "x", "lane": "a", "seconds": 1, "release": {"slots": 1}}, {"id": "y", "lane": "a", "seconds": 1, "acquire": {"slots": 1}})",
     "task \"x\" releases more of pool \"slots\" than is held then; acquire it in a task that "
     "starts "
     "before"},
    {"NoId", R"({"lane": "a", "seconds": 1})", "g.json: tasks[0]: \"id\" is missing; add it"},
    {"BeyondTheClock", R"({"id": "x", "lane": "a", "seconds": 1e30})",
     "task \"x\" would end after more than 126 years; check the units of its amount and of the "
     "capacities it uses"},
};
INSTANTIATE_TEST_SUITE_P(Graph, RefusedTask, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST(RefusedGraph, NamesTheLinkPoolOrLane) {
  EXPECT_EQ(
      refused(R"({"lanes": [], "links": {"bus": 0}, "tasks": []})"),
      "g.json: link \"bus\": capacity: must be above 0, is 0; give it what it moves a second");
  EXPECT_EQ(refused(R"({"lanes": [], "pools": {"slots": -1}, "tasks": []})"),
            "g.json: pool \"slots\": capacity: must be above 0, is -1; give it bytes or slots");
  EXPECT_EQ(refused(R"({"lanes": [], "links": {"bus": Infinity}, "tasks": []})"),
            "g.json: links: bus: must be a finite number, not Infinity");
  EXPECT_EQ(refused(R"({"lanes": ["a", "a"], "tasks": []})"),
            "g.json: lanes: lane \"a\" is given twice; rename one");
  EXPECT_EQ(refused(R"({"lanes": [], "links": {"bus": 1, "bus": 2}, "tasks": []})"),
            "g.json: key \"bus\" is given twice in one object; keep one");
  EXPECT_EQ(refused(R"({"lanes": ["a"], "tasks": [],
                        "interference": [{"on": "a", "from": "a", "factor": -1}]})"),
            "g.json: interference on \"a\" from \"a\": factor: must not be negative, is -1");
  EXPECT_EQ(refused(R"({"lanes": ["a"], "tasks": [],
                        "interference": [{"on": "a", "from": "h2d", "factor": 1}]})"),
            "g.json: interference[0]: from: unknown lane \"h2d\"; did you mean \"a\"?");
}

TEST(RefusedGraph, NamesTheFieldOfTheFile) {
  EXPECT_EQ(refused(R"({"lanes": [], "task": []})"),
            "g.json: unknown key \"task\"; did you mean \"tasks\"?");
  EXPECT_EQ(refused(R"({"lanes": []})"), "g.json: \"tasks\" is missing; add it");
  EXPECT_EQ(refused("[]"), "g.json: must be an object {...}, not a list");
  EXPECT_EQ(refused(R"({"lanes": ["a"], "tasks": [{"id": "x", "lane": "a", "seconds": 1}],
                        "period": ["x"]})"),
            "g.json: period: must name two tasks, [first, last], not 1");
  EXPECT_EQ(refused(R"({"lanes": ["a"], "tasks": [{"id": "x", "lane": "a", "seconds": 1}],
                        "period": ["x", "y"]})"),
            "g.json: period: unknown task \"y\"; did you mean \"x\"?");
}

TEST(RefusedGraph, GivesLineAndColumnOfMalformedJson) {
  EXPECT_EQ(refused("{\"lanes\": [],\n \"tasks\": [,]}").substr(0, 26),
            "g.json: line 2, column 12:");
  EXPECT_EQ(refused("").substr(0, 25), "g.json: line 1, column 1:");
}

TEST(RefusedGraph, AStallIsNamed) {
  System system({"a", "b"});
  system.interference("a", "b", 0).interference("b", "a", 0);
  system.fixed("x", "a", 1).fixed("y", "b", 1);
  EXPECT_EQ(
      refusal([&] { (void)simulate(system.graph); }),
      "stalled at 0.000000 s: task \"x\" runs at rate 0; give its interference a factor above 0");
}

}  // namespace
}  // namespace sluice::sim
