// Several documents in one sequence are computed as if each had its own sequence.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "engine/datasets/token_source.hpp"
#include "tests/engine/tiny_model.hpp"

namespace sluice::engine::testing {
namespace {

using planner::Keep;

/// Lengths of the documents in the two sequences of six tokens.
const std::vector<std::vector<std::int64_t>> kDocuments = {{2, 4}, {3, 1, 2}};

TinyModel packed_model(const std::string& name) {
  TinyModel model = tiny_model(name);
  model.job.attention = planner::AttentionSpan::document;
  std::size_t at = 0;
  for (const auto& sequence : kDocuments) {
    for (const std::int64_t length : sequence) {
      model.tokens[at] = ~model.tokens[at];
      at += static_cast<std::size_t>(length);
    }
  }
  return model;
}

/// The same documents and weights with one sequence each; the rest of each sequence is padding.
TinyModel apart_model(const TinyModel& packed) {
  TinyModel apart = packed;
  apart.job.attention = planner::AttentionSpan::sequence;
  apart.job.batch_size = 5;
  apart.tokens.assign(static_cast<std::size_t>(apart.job.tokens()), 0);
  apart.targets.assign(apart.tokens.size(), kPaddingTarget);
  const auto seq_len = static_cast<std::size_t>(apart.job.seq_len);
  std::size_t from = 0;
  std::size_t sequence = 0;
  for (const auto& documents : kDocuments) {
    for (const std::int64_t length : documents) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(length); ++i, ++from) {
        const std::int32_t token = packed.tokens[from];
        apart.tokens[sequence * seq_len + i] = token < 0 ? ~token : token;
        apart.targets[sequence * seq_len + i] = packed.targets[from];
      }
      ++sequence;
    }
  }
  return apart;
}

class Documents : public ::testing::TestWithParam<std::string> {};

/// Models for these tests. Experts are balanced over a micro-batch, which differs if documents are
/// sequences, so balanced models are left out.
std::vector<std::string> models_of_documents() {
  std::vector<std::string> names = tiny_model_names();
  std::erase(names, "mixtral_balanced");
  return names;
}

INSTANTIATE_TEST_SUITE_P(Attention, Documents, ::testing::ValuesIn(models_of_documents()),
                         [](const auto& info) { return info.param; });

TEST_P(Documents, InOneSequenceGiveTheLossAndGradientsOfSequencesOfTheirOwn) {
  const TinyModel packed = packed_model(GetParam());
  const TinyModel apart = apart_model(packed);
  const StepResult found = run_step(packed, Keep::all);
  const StepResult expected = run_step(apart, Keep::all);
  EXPECT_TRUE(found.guards_intact);
  // Both divide by the tokens of their step, and the second has padding.
  const double scale =
      static_cast<double>(apart.job.tokens()) / static_cast<double>(packed.job.tokens());
  EXPECT_NEAR(found.loss, expected.loss * scale, 1e-6 * found.loss);
  for (std::size_t unit = 0; unit < found.gradients.size(); ++unit) {
    std::vector<double> scaled;
    scaled.reserve(expected.gradients[unit].size());
    for (const float each : expected.gradients[unit]) {
      scaled.push_back(static_cast<double>(each) * scale);
    }
    EXPECT_LT(relative_error(found.gradients[unit].data(), scaled.data(),
                             static_cast<std::int64_t>(scaled.size())),
              1e-5)
        << "unit " << unit;
  }
}

TEST_P(Documents, AreNotSeenFromOneAnother) {
  TinyModel model = packed_model(GetParam());
  const double marked = run_step(model, Keep::all).loss;
  model.job.attention = planner::AttentionSpan::sequence;
  EXPECT_GT(std::abs(run_step(model, Keep::all).loss - marked), 1e-4 * marked);
}

TEST_P(Documents, WhatIsKeptChangesNoBitOfThem) {
  TinyModel model = packed_model(GetParam());
  model.job.compute = planner::ComputeType::bf16;
  const StepResult all = run_step(model, Keep::all);
  for (const Keep keep : {Keep::input, Keep::selective}) {
    const StepResult other = run_step(model, keep);
    EXPECT_EQ(all.loss, other.loss);
    for (std::size_t unit = 0; unit < all.gradients.size(); ++unit) {
      EXPECT_EQ(0, std::memcmp(all.gradients[unit].data(), other.gradients[unit].data(),
                               all.gradients[unit].size() * sizeof(float)))
          << to_string(keep) << " unit " << unit;
    }
  }
}

}  // namespace
}  // namespace sluice::engine::testing
