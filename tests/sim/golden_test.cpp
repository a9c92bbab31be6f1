// A committed prediction, so that one that moves is noticed and explained in CHANGELOG.md.
// SLUICE_UPDATE_GOLDEN=1 rewrites it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "sim/graph_file.hpp"
#include "sim/json_object.hpp"
#include "sim/result_json.hpp"

namespace sluice::sim {
namespace {

class Golden : public testing::TestWithParam<const char*> {};

TEST_P(Golden, ResultIsTheCommittedOneByteForByte) {
  const std::string base = std::string(SIM_GOLDEN) + "/" + GetParam();
  const TaskGraph graph = read_graph(read_text_file(base + ".graph.json"), GetParam());
  const std::string result = write_result(graph, simulate(graph));
  if (std::getenv("SLUICE_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(base + ".result.json") << result;
  }
  EXPECT_EQ(result, read_text_file(base + ".result.json"));
}
INSTANTIATE_TEST_SUITE_P(Graph, Golden, testing::Values("streaming", "contention"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace sluice::sim
