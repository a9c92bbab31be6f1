// Tests of the config.json that checkpoints and exports have.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "engine/model_files/model_config.hpp"
#include "planner/catalogue/known_models.hpp"
#include "planner/models/shape.hpp"
#include "tests/engine/tiny_model.hpp"

namespace sluice::engine::testing {
namespace {

void expect_reads_back(const std::string& config, const std::string& name) {
  const std::string written = written_config(config, ElementType::bf16, name);
  EXPECT_EQ(planner::shape_from_config(written, name), planner::shape_from_config(config, name))
      << name << "\n"
      << written;
  EXPECT_EQ(written_config(written, ElementType::bf16, name), written) << name;
}

TEST(WrittenConfig, ReadsBackAsTheModelOfEveryFamily) {
  for (const auto& entry :
       std::filesystem::directory_iterator(SLUICE_SOURCE_DIR "/tests/fixtures/families")) {
    expect_reads_back(read_fixture(entry.path()).metadata.at("config"), entry.path().stem());
  }
}

TEST(WrittenConfig, ReadsBackAsEveryModelOfTheCatalogue) {
  for (const planner::CatalogueModel& model : planner::catalogue_models()) {
    expect_reads_back(model.config, model.name);
  }
}

}  // namespace
}  // namespace sluice::engine::testing
