#include "engine/model_files/tokenizer_place.hpp"

#include "engine/model_files/checkpoint_file.hpp"
#include "engine/model_files/model_folder.hpp"
#include "engine/run_folders/tokenizer_files.hpp"
#include "planner/catalogue/catalogue.hpp"
#include "planner/catalogue/model_source.hpp"
#include "planner/files/whole_file.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using std::filesystem::path;

/// Tokens of a vocabulary whose ids can only be the values of bytes.
constexpr std::int64_t kByteVocab = 256;
constexpr const char* kCheckpointFile = "checkpoint.json";

bool has_tokenizer_files(const path& folder) {
  for (const char* name : kTokenizerFiles) {
    if (std::filesystem::is_regular_file(folder / name)) return true;
  }
  return false;
}

/// The folder in which the run of a checkpoint's folder keeps its tokenizer.
path kept_by_run(const path& checkpoint) {
  const path whole = std::filesystem::absolute(checkpoint).lexically_normal();
  const path step = whole.has_filename() ? whole : whole.parent_path();
  return step.parent_path().parent_path() / "tokenizer";
}

}  // namespace

TokenizerPlace tokenizer_place_of(const path& folder, const CheckpointFacts& facts,
                                  std::int64_t vocab) {
  const bool none = facts.keeps_tokenizer && !*facts.keeps_tokenizer;
  for (const path& place : {folder, kept_by_run(folder)}) {
    if (!none && has_tokenizer_files(place)) return {.folder = place, .bytes = true};
  }
  if (none || !facts.model_folder) return {.folder = std::nullopt, .bytes = true};
  if (std::filesystem::is_directory(*facts.model_folder)) {
    // The run was trained with what this folder has, be it nothing.
    TokenizerPlace place = find_tokenizer_place(facts.model_folder->string());
    place.bytes = true;
    return place;
  }
  if (vocab == kByteVocab) return {.folder = std::nullopt, .bytes = true};
  throw BadRequest("model: " + folder.string() + " was trained with the tokenizer of " +
                   facts.model_folder->string() +
                   ", which is not there any more: put its files into " +
                   kept_by_run(folder).string());
}

std::optional<path> tokenizer_folder_of(const Checkpoint& checkpoint) {
  try {
    return tokenizer_place_of(checkpoint.folder(), checkpoint.facts(), checkpoint.shape().vocab)
        .folder;
  } catch (const BadRequest&) {  // The folder is gone, or no model any more.
    return std::nullopt;
  }
}

TokenizerPlace find_tokenizer_place(const std::string& model) {
  // A run's folder of tokenizer files has a name that leads to no model.
  if (std::filesystem::is_directory(model) && has_tokenizer_files(model) &&
      !std::filesystem::exists(path(model) / kConfigFile)) {
    return {.folder = path(model), .bytes = true};
  }
  const auto folder = planner::find_model_source(model).folder();
  if (!folder) return {.folder = std::nullopt, .bytes = true};
  const std::int64_t vocab = planner::find_model(model).vocab;
  if (const path manifest = *folder / kCheckpointFile; std::filesystem::is_regular_file(manifest)) {
    const CheckpointFile file =
        read_checkpoint_text(planner::read_whole_file(manifest), manifest.string());
    return tokenizer_place_of(*folder, file.facts, vocab);
  }
  return {.folder = folder, .bytes = vocab == kByteVocab || !claims_weights(*folder)};
}

bool keep_tokenizer(const path& from, const path& to) {
  if (!has_tokenizer_files(from)) return false;
  const auto copy = [&](const char* name) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(from / name)) {
      std::filesystem::remove(to / name, ignored);
      return;
    }
    planner::write_whole_file(to / name, planner::read_whole_file(from / name));
  };
  for (const char* name : kTokenizerFiles) copy(name);
  copy(kConfigFile);
  return true;
}

}  // namespace sluice::engine
