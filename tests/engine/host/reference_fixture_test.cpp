// The templates and the optimizer against other implementations: committed fixtures made by
// transformers, and fixtures that plain PyTorch makes while the tests run
// (SLUICE_LIVE_FIXTURES names their folder).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/optimizer/adamw.hpp"
#include "engine/optimizer/master_weights.hpp"
#include "tests/engine/safetensors.hpp"
#include "tests/engine/tiny_model.hpp"

namespace sluice::engine::testing {
namespace {

/// Fixture files of this run's folder; empty if there is none.
std::vector<std::string> fixture_files() {
  const char* live = std::getenv("SLUICE_LIVE_FIXTURES");
  const std::filesystem::path folder =
      live != nullptr ? live : SLUICE_SOURCE_DIR "/tests/fixtures/transformers";
  std::vector<std::string> files;
  if (!std::filesystem::is_directory(folder)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

TinyModel model_of(const Fixture& fixture, const std::string& path) {
  TinyModel model;
  model.job.model = planner::shape_from_config(fixture.metadata.at("config"), path);
  const auto& tokens = fixture.tensor("tokens");
  model.job.batch_size = tokens.shape.at(0);
  model.job.seq_len = tokens.shape.at(1);
  model.job.micro_batch = 1;
  model.job.loss_chunk = 5;
  model.job.compute = planner::ComputeType::fp32;
  const auto integers = [](const FixtureTensor& tensor) {
    return std::vector<std::int32_t>(tensor.values.begin(), tensor.values.end());
  };
  model.tokens = integers(tokens);
  model.targets = integers(fixture.tensor("targets"));
  for (std::size_t unit = 0; unit < planner::unit_count(model.job.model); ++unit) {
    const auto tensors = planner::unit_tensors(model.job.model, unit);
    std::vector<float> weights(static_cast<std::size_t>(tensors.padded_size), 0.0f);
    for (const auto& tensor : tensors.tensors) {
      const auto& values = fixture.tensor("weight/" + tensor.name).values;
      EXPECT_EQ(static_cast<std::int64_t>(values.size()), tensor.size()) << tensor.name;
      std::transform(values.begin(), values.end(), weights.begin() + tensor.offset,
                     [](double value) { return static_cast<float>(value); });
    }
    model.weights.push_back(std::move(weights));
  }
  return model;
}

void check_model(const std::string& path) {
  const Fixture fixture = read_fixture(path);
  const TinyModel model = model_of(fixture, path);
  const StepResult step = run_step(model, planner::Keep::input);
  const double loss = std::stod(fixture.metadata.at("loss"));
  EXPECT_NEAR(step.loss, loss, 1e-5 * loss);
  std::size_t compared = 0;
  for (std::size_t unit = 0; unit < step.gradients.size(); ++unit) {
    for (const auto& tensor : planner::unit_tensors(model.job.model, unit).tensors) {
      const auto& expected = fixture.tensor("grad/" + tensor.name).values;
      ++compared;
      EXPECT_LT(relative_error(step.gradients[unit].data() + tensor.offset, expected.data(),
                               tensor.size()),
                1e-5)
          << tensor.name;
    }
  }
  // Checks that every gradient of the fixture was compared.
  std::size_t given = 0;
  for (const auto& [name, tensor] : fixture.tensors) given += name.starts_with("grad/") ? 1 : 0;
  EXPECT_EQ(compared, given);
}

/// Compares 100 steps of both tensors, with the global norm and its clipping.
void check_adamw(const std::string& path) {
  const Fixture fixture = read_fixture(path);
  const auto json = nlohmann::json::parse(fixture.metadata.at("settings"));
  planner::AdamWSettings settings;
  settings.beta1 = json.at("beta1");
  settings.beta2 = json.at("beta2");
  settings.eps = json.at("eps");
  settings.weight_decay = json.at("weight_decay");
  settings.clip = json.at("clip").get<double>();
  struct Tensor {
    std::string name;
    bool decays;
    std::vector<std::uint16_t> high, low;
    std::vector<float> m, v;
  };
  std::vector<Tensor> tensors = {{"decays", true, {}, {}, {}, {}},
                                 {"plain", false, {}, {}, {}, {}}};
  for (Tensor& tensor : tensors) {
    for (const double value : fixture.tensor(tensor.name + "/start").values) {
      const SplitMaster halves = split_master(static_cast<float>(value));
      tensor.high.push_back(halves.high);
      tensor.low.push_back(halves.low);
    }
    tensor.m.resize(tensor.high.size());
    tensor.v.resize(tensor.high.size());
  }
  ThreadPool pool(2);
  const auto& rates = fixture.tensor("lr").values;
  const auto& norms = fixture.tensor("norms").values;
  ASSERT_EQ(rates.size(), 100u);
  int clipped = 0;
  for (std::size_t step = 0; step < rates.size(); ++step) {
    std::vector<std::vector<float>> gradients;
    double squares = 0;
    for (const Tensor& tensor : tensors) {
      const auto& all = fixture.tensor(tensor.name + "/gradients").values;
      const std::size_t n = tensor.high.size();
      gradients.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(step * n),
                             all.begin() + static_cast<std::ptrdiff_t>((step + 1) * n));
      for (const float value : gradients.back()) squares += double{value} * value;
    }
    const double norm = std::sqrt(squares);
    EXPECT_NEAR(norm, norms[step], 1e-6 * norm);
    const float scale = clip_scale(settings, norm);
    clipped += scale < 1 ? 1 : 0;
    const AdamWStep constants =
        adamw_step(settings, rates[step], static_cast<std::int64_t>(step) + 1, scale);
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      Tensor& tensor = tensors[t];
      const auto n = static_cast<std::int64_t>(tensor.high.size());
      const AdamWSpan span{0, n, tensor.decays};
      adamw_update({tensor.high.data(), tensor.low.data(), tensor.m.data(), tensor.v.data(),
                    gradients[t].data()},
                   {&span, 1}, constants, pool, 2);
      std::vector<float> weights;
      for (std::size_t i = 0; i < tensor.high.size(); ++i) {
        weights.push_back(join_master({tensor.high[i], tensor.low[i]}));
      }
      const double* expected =
          fixture.tensor(tensor.name + "/after").values.data() + step * tensor.high.size();
      EXPECT_LT(relative_error(weights.data(), expected, n), 1e-6)
          << tensor.name << " after step " << step + 1;
    }
  }
  EXPECT_GT(clipped, 10);
  EXPECT_LT(clipped, 90);
}

TEST(Reference, LossAndEveryGradientAgreeWithinAHundredThousandth) {
  int models = 0;
  for (const std::string& path : fixture_files()) {
    if (path.ends_with("adamw.safetensors")) continue;
    SCOPED_TRACE(path);
    check_model(path);
    ++models;
  }
  if (models == 0 && std::getenv("SLUICE_LIVE_FIXTURES") != nullptr) {
    GTEST_SKIP() << "no live fixtures: tests/reference/torch_model.py had no PyTorch";
  }
  EXPECT_EQ(models, 8);
}

TEST(Reference, AHundredAdamWStepsAgreeWithinAMillionth) {
  for (const std::string& path : fixture_files()) {
    if (!path.ends_with("adamw.safetensors")) continue;
    check_adamw(path);
    return;
  }
  if (std::getenv("SLUICE_LIVE_FIXTURES") != nullptr) {
    GTEST_SKIP() << "no live fixtures: tests/reference/torch_model.py had no PyTorch";
  }
  FAIL() << "tests/fixtures/transformers has no adamw.safetensors";
}

}  // namespace
}  // namespace sluice::engine::testing
