#include "planner/models/shape.hpp"
#include "tests/fuzz/fuzzed.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice;
  fuzz::may_refuse([&] {
    const planner::ModelShape shape =
        planner::shape_from_config(fuzz::text_of(data, size), "config.json");
    planner::validate(shape, "config.json");
    check(planner::parameter_count(shape) > 0, "a model has parameters");
    const planner::ModelShape again =
        planner::shape_from_config(planner::config_from_shape(shape), "written");
    check(again.layers == shape.layers && again.vocab == shape.vocab, "a shape reads back");
  });
  return 0;
}
