#include "planner/runs/run_config.hpp"
#include "tests/fuzz/fuzzed.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice;
  fuzz::may_refuse([&] {
    const planner::RunConfig run = planner::run_from_yaml(fuzz::text_of(data, size), "RUN.yaml");
    const std::string written = planner::to_yaml(run);
    check(planner::to_yaml(planner::run_from_yaml(written, "written")) == written,
          "a run reads back");
  });
  return 0;
}
