// Files of token ids, and of masks, opened by what they hold.
#pragma once

#include <filesystem>
#include <string>

#include "engine/datasets/integer_file.hpp"

namespace sluice::engine {

/// Whether a file begins as NumPy's .npy files do, whatever its name; false where it cannot be
/// read.
[[nodiscard]] bool begins_as_npy(const std::filesystem::path& file);

/// Opens a file of integers: NumPy's .npy, known by its first bytes whatever its name; a token file
/// of llm.c, whose header states the type of its ids; or nothing but values of `raw_type`. `field`
/// is the run's key that names the file, for messages. Throws BadRequest naming the file, what it
/// holds and what to do where it is plainly of another form: packed, an archive, text, a table, or
/// the weights of a model.
[[nodiscard]] IntegerFile open_token_file(const std::filesystem::path& file, IntegerType raw_type,
                                          const std::string& field);

}  // namespace sluice::engine
