#include "planner/plans/plan_file.hpp"
#include "tests/fuzz/fuzzed.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice;
  fuzz::may_refuse([&] {
    const auto file = planner::plan_file_from_json(fuzz::text_of(data, size), "plan.json");
    const std::string written = planner::to_json_text(file);
    check(planner::to_json_text(planner::plan_file_from_json(written, "written")) == written,
          "a plan reads back");
  });
  return 0;
}
