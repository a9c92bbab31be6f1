#include "planner/machines/profile_file.hpp"
#include "tests/fuzz/fuzzed.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice;
  fuzz::may_refuse([&] {
    const auto profile = planner::profile_from_json(fuzz::text_of(data, size), "profile.json");
    const std::string written = planner::to_json_text(profile);
    check(planner::to_json_text(planner::profile_from_json(written, "written")) == written,
          "a profile reads back");
  });
  return 0;
}
