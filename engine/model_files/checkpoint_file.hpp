// Reader and writer of checkpoint.json, which describes a checkpoint and its files.
#pragma once

#include <string>
#include <vector>

#include "engine/model_files/checkpoint.hpp"

namespace sluice::engine {

struct CheckpointFile {
  CheckpointFacts facts;
  std::vector<FileRecord> files;
};

/// Text of checkpoint.json for `file`, which ends in a hash of the text before it.
[[nodiscard]] std::string checkpoint_text(const CheckpointFile& file);
/// Parses text written by checkpoint_text. Throws BadRequest `WHERE: ...` if the text is anything
/// else.
[[nodiscard]] CheckpointFile read_checkpoint_text(const std::string& text,
                                                  const std::string& where);

}  // namespace sluice::engine
