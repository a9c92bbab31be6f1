// Jobs and plans of several ranks, for tests of what must not depend on the number of ranks.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/model_files/checkpoint.hpp"
#include "planner/models/slices.hpp"
#include "planner/plans/plan.hpp"
#include "planner/plans/random_plan.hpp"
#include "tests/engine/run_plan.hpp"

namespace sluice::engine::test {

/// The small jobs with as many micro-batches as `groups` and its ranks divide, and units of several
/// norm blocks, so that slices end inside tensors.
inline std::vector<NamedJob> ranked_jobs(std::int64_t groups) {
  std::vector<NamedJob> jobs = small_jobs();
  for (NamedJob& each : jobs) {
    each.job.model.vocab = 300;
    if (!each.job.model.experts) each.job.model.intermediate = 136;
    each.job.batch_size = (groups == 8 ? 8 : 12) * each.job.micro_batch;
    each.job.groups = groups;
    each.name += ", groups " + std::to_string(groups);
  }
  return jobs;
}

/// The plan that streams everything, for `ranks` ranks.
inline planner::Plan plain_rank_plan(const planner::Job& job, std::int64_t ranks) {
  planner::Plan plan =
      planner::uniform_plan(planner::part_of_rank(job, ranks), planner::UnitPlan{}, 1);
  plan.ranks = ranks;
  return plan;
}

/// Text of the config.json of an untied llama of this shape.
inline std::string config_of(const planner::ModelShape& shape) {
  std::string config = R"({"model_type": "llama", "tie_word_embeddings": false)";
  for (const auto& [key, value] :
       {std::pair("num_hidden_layers", shape.layers), std::pair("hidden_size", shape.hidden),
        std::pair("intermediate_size", shape.intermediate),
        std::pair("num_attention_heads", shape.heads),
        std::pair("num_key_value_heads", shape.kv_heads), std::pair("head_dim", shape.head_dim),
        std::pair("vocab_size", shape.vocab),
        std::pair("max_position_embeddings", std::int64_t{64})}) {
    config += std::string(", \"") + key + "\": " + std::to_string(value);
  }
  return config + "}";
}

inline CheckpointFacts facts_of_step(std::int64_t step) {
  return {.step = step,
          .job_hash = "job",
          .numerics_id = "numerics",
          .data_sha256 = std::string(64, 'a'),
          .run_yaml = "steps: 9\n",
          .model = "small",
          .model_folder = std::nullopt};
}

/// Contents of the files in a folder, by name.
inline std::map<std::string, std::string> files_in(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(file.path(), std::ios::binary);
    files[file.path().filename().string()] = {std::istreambuf_iterator<char>(in), {}};
  }
  return files;
}

}  // namespace sluice::engine::test
