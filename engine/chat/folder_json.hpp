// Configuration files of a model folder.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace sluice::engine {

/// The JSON object in a model folder's configuration file; an empty one if there is no such file.
/// Throws BadRequest naming the file if it holds anything else.
[[nodiscard]] nlohmann::json folder_json(const std::filesystem::path& file);

/// All bytes of a file. Throws BadRequest if it cannot be read.
[[nodiscard]] std::string whole_text(const std::filesystem::path& file);

}  // namespace sluice::engine
