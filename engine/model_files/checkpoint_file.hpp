// checkpoint.json: what a checkpoint says of itself and of its files.
#pragma once

#include <string>
#include <vector>

#include "engine/model_files/checkpoint.hpp"

namespace sluice::engine {

struct CheckpointFile {
  CheckpointFacts facts;
  std::vector<FileRecord> files;
};

/// The text, which ends in a hash of itself.
[[nodiscard]] std::string checkpoint_text(const CheckpointFile& file);
/// Throws BadRequest `WHERE: ...` where the text is not what checkpoint_text wrote.
[[nodiscard]] CheckpointFile read_checkpoint_text(const std::string& text,
                                                  const std::string& where);

}  // namespace sluice::engine
