// The list of families.
#include <algorithm>
#include <vector>

#include "planner/models/family_reader.hpp"
#include "sim/error.hpp"

namespace sluice::planner {

std::span<const FamilyReader* const> family_readers() {
  static const std::vector<const FamilyReader*> readers = {
      &llama_reader(),       &mistral_reader(),     &qwen2_reader(),
      &qwen3_reader(),       &qwen3_moe_reader(),   &mixtral_reader(),
      &gpt_oss_reader(),     &gemma_reader(),       &gemma2_reader(),
      &gemma3_reader(),      &olmo2_reader(),       &olmo3_reader(),
      &olmoe_reader(),       &smollm3_reader(),     &ministral_reader(),
      &ministral3_reader(),  &phi3_reader(),        &glm_reader(),
      &glm4_reader(),        &glm4_moe_reader(),    &granite_reader(),
      &seed_oss_reader(),    &ernie4_5_reader(),    &arcee_reader(),
      &helium_reader(),      &cwm_reader(),         &exaone4_reader(),
      &qwen2_moe_reader(),   &minimax_m2_reader(),  &qwen3_next_reader(),
      &qwen3_5_reader(),     &qwen3_5_moe_reader(), &ernie4_5_moe_reader(),
      &deepseek_v2_reader(), &deepseek_v3_reader(), &glm4_moe_lite_reader(),
      &gemma4_reader(),      &dots1_reader(),       &hunyuan_v1_dense_reader()};
  return readers;
}

const FamilyReader* find_reader(std::string_view model_type) {
  const auto readers = family_readers();
  const auto found = std::ranges::find_if(
      readers, [&](const FamilyReader* reader) { return reader->family.model_type == model_type; });
  return found == readers.end() ? nullptr : *found;
}

const FamilyDefaults& family_defaults(Family family) {
  const FamilyReader* reader = find_reader(family.model_type);
  check(reader != nullptr, "every family has defaults");
  return reader->defaults;
}

}  // namespace sluice::planner
