// Tests of the names of text models within larger ones.
#include "engine/model_files/text_names.hpp"

#include <gtest/gtest.h>

namespace sluice::engine::testing {
namespace {

std::optional<std::string> named(TextNames form, const std::string& name) {
  return text_name(form, name, 2, 1);
}

TEST(TextNames, AreThoseOfTheNewerWrapper) {
  const TextNames form = text_names_of(
      {"lm_head.weight", "model.language_model.norm.weight", "model.visual.merger.mlp.0.weight"});
  EXPECT_EQ(form, TextNames::model_language_model);
  EXPECT_EQ(named(form, "model.language_model.layers.1.mlp.up_proj.weight"),
            "model.layers.1.mlp.up_proj.weight");
  EXPECT_EQ(named(form, "lm_head.weight"), "lm_head.weight");
  EXPECT_EQ(named(form, "model.visual.merger.mlp.0.weight"), std::nullopt);
  EXPECT_EQ(named(form, "mtp.fc.weight"), std::nullopt);
}

TEST(TextNames, AreThoseOfTheOlderWrapper) {
  const TextNames form = text_names_of({"language_model.model.norm.weight", "vision_tower.x"});
  EXPECT_EQ(form, TextNames::language_model);
  EXPECT_EQ(named(form, "language_model.model.norm.weight"), "model.norm.weight");
  EXPECT_EQ(named(form, "language_model.lm_head.weight"), "lm_head.weight");
  EXPECT_EQ(named(form, "multi_modal_projector.linear.weight"), std::nullopt);
}

TEST(TextNames, OfATextModelAreItsOwn) {
  const TextNames form = text_names_of({"model.norm.weight", "visual.patch_embed.proj.weight"});
  EXPECT_EQ(form, TextNames::own);
  EXPECT_EQ(named(form, "model.norm.weight"), "model.norm.weight");
  EXPECT_EQ(named(form, "visual.patch_embed.proj.weight"), std::nullopt);
  EXPECT_EQ(named(form, "model.layers.2.eh_proj.weight"), std::nullopt);
  // Only as many layers behind the model's own as config.json says predict further tokens.
  EXPECT_EQ(named(form, "model.layers.3.mlp.up_proj.weight"), "model.layers.3.mlp.up_proj.weight");
  EXPECT_EQ(named(form, "model.layers.1.mlp.up_proj.weight"), "model.layers.1.mlp.up_proj.weight");
}

TEST(TextNames, ComeBackFromEveryForm) {
  for (const TextNames form :
       {TextNames::own, TextNames::model_language_model, TextNames::language_model}) {
    for (const std::string name : {"model.norm.weight", "lm_head.weight"}) {
      EXPECT_EQ(named(form, checkpoint_name_of(form, name)), name);
    }
  }
}

}  // namespace
}  // namespace sluice::engine::testing
