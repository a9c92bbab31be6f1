// Data files of JSON examples: one object per line, or one array of objects.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace sluice::engine {

enum class Reading { goes_on, stops };

/// Called with one object of the file and "FILE:LINE", the line where the object begins.
using ExampleVisitor =
    std::function<Reading(const nlohmann::json& object, const std::string& where)>;

using ExampleProgress = std::function<void(std::int64_t done, std::int64_t all)>;

/// Visits the examples of a file in order: the elements of a JSON array, or the non-blank lines.
/// Calls `progress`, if any, after each with the bytes read so far and the file's size. Throws
/// BadRequest `FILE:LINE: ...` for an example that is no JSON object, and whatever the visitor
/// throws.
void read_examples(const std::filesystem::path& file, const ExampleVisitor& visit,
                   const ExampleProgress& progress = nullptr);

}  // namespace sluice::engine
