// Kernel models as JSON files (docs/schemas/kernels.schema.json).
#pragma once

#include <string>

#include "planner/kernels/kernel_model.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {

[[nodiscard]] std::string to_json_text(const KernelModel& model);
/// Parses a kernel model's JSON text. Throws BadRequest that begins with `where` (the file's name)
/// and names the field.
[[nodiscard]] KernelModel kernels_from_json(const std::string& text, const std::string& where);
/// Reads a kernel model that is part of another JSON file. Throws BadRequest that names the field.
[[nodiscard]] KernelModel kernels_from_json(const sim::JsonObject& json);
/// Whether the JSON text `text` states that it is a kernel model.
[[nodiscard]] bool is_kernels_json(const std::string& text);

}  // namespace sluice::planner
