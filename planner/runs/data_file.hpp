// What a run may name as its data, as far as can be said without reading it.
#pragma once

#include <filesystem>

namespace sluice::planner {

/// Throws BadRequest where `data` is there and is no file: a folder, say.
void require_data_file(const std::filesystem::path& data);

}  // namespace sluice::planner
