// Tests of the data sets that a run states.
#include "planner/runs/data_entry.hpp"

#include <gtest/gtest.h>

#include "planner/runs/run_config.hpp"
#include "tests/planner/refusal.hpp"

namespace sluice::planner {
namespace {

RunConfig read(const std::string& text) { return run_from_yaml(text, "RUN.yaml"); }

TEST(DataEntries, OneFileIsWrittenAsItAlwaysWas) {
  const RunConfig run = read("data: corpus.txt\n");
  ASSERT_EQ(run.data.size(), 1U);
  EXPECT_TRUE(is_plain(run.data.front()));
  EXPECT_NE(to_yaml(run).find("\ndata_format: auto\n"), std::string::npos);
  EXPECT_EQ(to_yaml(run).find("data: \"corpus.txt\"\n"), 0U);
  EXPECT_EQ(read("data: [corpus.txt]\n").data, run.data);
  EXPECT_EQ(read("data: {path: corpus.txt}\n").data, run.data);
  EXPECT_EQ(read("data:\n").data.size(), 0U);
  EXPECT_EQ(read("data: a,b.txt\n").data.size(), 1U) << "a comma may stand in a file's name";
}

TEST(DataEntries, AListStatesEachSetsOwnSettings) {
  const RunConfig run = read(
      "data:\n"
      "  - path: a.jsonl\n"
      "    weight: 3\n"
      "    max_samples: 1_000\n"
      "    columns: {prompt: question, response: \"the answer\"}\n"
      "  - {path: org/set, weight: 0.5, split: train, subset: main, format: sharegpt,\n"
      "     roles: {human: user, bot: assistant}}\n"
      "max_samples: 50\n"
      "columns:\n"
      "  response: reply\n"
      "  system: rules\n"
      "strict: True\n");
  ASSERT_EQ(run.data.size(), 2U);
  EXPECT_EQ(names_of(run.data), "a.jsonl, org/set");
  EXPECT_EQ(run.data[0].weight, 3.0);
  EXPECT_EQ(run.data[0].columns.at("response"), "the answer");
  EXPECT_EQ(run.data[1].format, DataFormat::sharegpt);
  EXPECT_EQ(run.data[1].roles.at("bot"), "assistant");
  EXPECT_TRUE(run.strict);
  EXPECT_EQ(to_yaml(run_from_yaml(to_yaml(run), "run.yaml")), to_yaml(run));
  // What the run states for all its sets holds where an entry states nothing.
  const std::vector<DataEntry> sets = data_sets(run);
  EXPECT_EQ(sets[0].max_samples, 1000);
  EXPECT_EQ(sets[1].max_samples, 50);
  EXPECT_EQ(sets[0].columns.at("response"), "the answer");
  EXPECT_EQ(sets[0].columns.at("system"), "rules");
  EXPECT_EQ(sets[1].columns.at("response"), "reply");
}

TEST(DataEntries, OverridesStateThemInOneLine) {
  RunConfig run = read("data: a.jsonl\n");
  set_path(run, "data", "[b.jsonl, {path: c.jsonl, max_samples: 5}]");
  EXPECT_EQ(names_of(run.data), "b.jsonl, c.jsonl");
  set_path(run, "columns.prompt", "question");
  EXPECT_EQ(run.columns.at("prompt"), "question");
  set_path(run, "columns", "{response: answer, query: \"more text\"}");
  EXPECT_EQ(run.columns,
            (std::map<std::string, std::string>{{"response", "answer"}, {"query", "more text"}}));
  set_path(run, "columns", "null");
  EXPECT_TRUE(run.columns.empty());
  EXPECT_REFUSED(set_path(run, "columns", "{promt: q}"),
                 "columns.promt: unknown key; did you mean");
  EXPECT_REFUSED(set_path(run, "columns", "prompt"), "must be a map such as {prompt: NAME}");
  set_path(run, "dataset", "identity, alpaca_en_demo");
  EXPECT_EQ(names_of(run.data), "identity, alpaca_en_demo");
}

TEST(DataEntries, SharesNeedAMixtureAndNoWeights) {
  const RunConfig run = read(
      "data: [{path: a, share: 0.25, max_samples: 20%}, {path: b, share: 0.75, split: "
      "\"x[:7%]\"}]\n"
      "mixture: all_exhausted\n");
  EXPECT_EQ(data_sets(run)[1].share, 0.75);
  EXPECT_EQ(run.data[0].max_percent, 20.0);
  EXPECT_EQ(run.data[1].max_percent, 7.0);
  EXPECT_EQ(run_from_yaml(to_yaml(run), "run.yaml").data, run.data);
  EXPECT_EQ(to_yaml(run_from_yaml(to_yaml(run), "run.yaml")), to_yaml(run));
  EXPECT_EQ(to_yaml(read("data: a\n")).find("mixture"), std::string::npos);
  EXPECT_REFUSED(data_sets(read("data: [{path: a, share: 1}]\n")), "say how long a pass");
  EXPECT_REFUSED(data_sets(read("data: [{path: a, weight: 2}]\nmixture: first_exhausted\n")),
                 "a has a weight: give shares");
  EXPECT_REFUSED(read("data: [{path: a, weight: 2, share: 1}]\n"), "has a weight and a share");
  EXPECT_REFUSED(read("data: [{path: a, share: 1}, b]\n"), "b has no share and others have");
  EXPECT_REFUSED(read("data: [{path: a, share: 0}]\n"), "data[0].share");
  EXPECT_REFUSED(read("data: [{path: a, max_samples: 0%}]\n"), "data[0].max_samples");
  EXPECT_REFUSED(read("mixture: first\n"), "first_exhausted");
}

TEST(DataEntries, RefusesNamingTheEntryAndTheKey) {
  EXPECT_REFUSED(read("data: [{pth: a}]\n"), "data[0].pth: unknown key; did you mean \"path\"");
  EXPECT_REFUSED(read("data: [a, {weight: 2}]\n"), "data[1]: path is missing");
  EXPECT_REFUSED(read("data: [{path: a, weight: 2}, b]\n"), "b has no weight");
  EXPECT_REFUSED(read("data: [{path: a, weight: 0}]\n"), "data[0].weight");
  EXPECT_REFUSED(read("data: [{path: a, columns: {promt: q}}]\n"),
                 "data[0].columns.promt: unknown key; did you mean \"prompt\"");
  EXPECT_REFUSED(read("data: [{path: a, roles: {gpt: asistant}}]\n"), "did you mean \"assistant\"");
  EXPECT_REFUSED(read("columns: {promt: q}\n"), "did you mean \"prompt\"");
  EXPECT_REFUSED(read("data: [{path: a, max_samples: 0}]\n"), "data[0].max_samples");
  EXPECT_REFUSED(read("data: [[a]]\n"), "data[0]: must be one value");
  EXPECT_REFUSED(read("dataset: a,,b\n"), "has a name that is empty");
}

}  // namespace
}  // namespace sluice::planner
