// Files of JSON records: one a line, or one array of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace sluice::engine {

enum class Reading { goes_on, stops };

/// Gets an object of the file and "FILE:LINE", the line where it begins.
using RecordVisitor =
    std::function<Reading(const nlohmann::json& record, const std::string& where)>;

using RecordProgress = std::function<void(std::int64_t done, std::int64_t all)>;

/// Visits the records of a file in order: of a JSON array, else of lines that are not blank. Throws
/// BadRequest `FILE:LINE: ...` where one is no JSON object, and what the visitor throws. After each
/// tells `progress`, if any, bytes of the file so far and of all.
void read_records(const std::filesystem::path& file, const RecordVisitor& visit,
                  const RecordProgress& progress = nullptr);

}  // namespace sluice::engine
