// The plan file: a plan with the job and profile it was made for, its layout and its prediction.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "planner/models/job.hpp"
#include "planner/plans/plan.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// One tensor of the layout in a plan file: its address in an arena, and the first and the last
/// task between which those bytes are its own.
struct LayoutRow {
  std::string arena;   ///< Arena in which the tensor lies: "device", "host" or "disk".
  std::string tensor;  ///< Name of the tensor in the step graph.
  Bytes offset;
  Bytes bytes;
  std::string first_task;
  std::string last_task;
  friend bool operator==(const LayoutRow&, const LayoutRow&) = default;
};

/// The prediction that was made together with a plan, as the plan file holds it; from `step_low` to
/// `step_high` is a 90 % interval.
struct PlanPrediction {
  Seconds step{0}, step_low{0}, step_high{0};
  double tokens_per_s = 0;
  Seconds bound{0};
  std::string bound_by = {};  ///< Name of what sets the bound (BoundBy), such as "compute".
  std::string cost_model_hash = {};
  friend bool operator==(const PlanPrediction&, const PlanPrediction&) = default;
};

/// What a plan file holds: a plan with the hashes of the job and the profile that it was made for,
/// its layout and its prediction.
struct PlanFile {
  std::string job_hash;
  std::string profile_hash;
  /// Numerics id of the runs that executed the plan; empty until one has stated it.
  std::string numerics_id;
  Plan plan;
  std::vector<LayoutRow> layout;
  std::optional<PlanPrediction> prediction;
  friend bool operator==(const PlanFile&, const PlanFile&) = default;
};

/// The plan file as JSON text (docs/schemas).
[[nodiscard]] std::string to_json_text(const PlanFile& file);
/// Parses a plan file's text. Throws BadRequest that begins with `where` (the file's name) and
/// names the field.
[[nodiscard]] PlanFile plan_file_from_json(const std::string& text, const std::string& where);

/// Writes the plan file whole or not at all. Throws EnvironmentError when the disk refuses.
void write_plan_file(const PlanFile& file, const std::filesystem::path& path);
/// Reads a plan file. Throws BadRequest naming the file and the field.
[[nodiscard]] PlanFile read_plan_file(const std::filesystem::path& path);

/// Checks that the plan of `file` was made for `job`. Throws BadRequest "plan is for another job"
/// (with what to do) where the file has another job's hash, and whatever validate(plan, job)
/// throws.
void check_plan_for(const PlanFile& file, const Job& job);

}  // namespace sluice::planner
