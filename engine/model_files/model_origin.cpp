#include "engine/model_files/model_origin.hpp"

#include <set>

#include "engine/model_files/checkpoint_file.hpp"
#include "engine/model_files/model_folder.hpp"
#include "planner/files/whole_file.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using std::filesystem::path;

CheckpointFacts facts_in(const path& folder) {
  const path file = folder / "checkpoint.json";
  return read_checkpoint_text(planner::read_whole_file(file), file.string()).facts;
}

/// The model folder that the chain of checkpoints from `folder` begins with.
std::optional<path> first_folder(std::optional<path> folder) {
  std::set<path> seen;
  while (folder && std::filesystem::exists(*folder / "checkpoint.json")) {
    if (!seen.insert(*folder).second) return std::nullopt;
    folder = facts_in(*folder).model_folder;
  }
  return folder;
}

/// Refuses tensors of `folder` that are not those of the record, the first of them by name.
void require_as_recorded(const path& folder, const StoredTensors& carried,
                         const CarriedRecord& wanted, const std::string& fix) {
  const CarriedRecord found = size_carried(carried);
  if (found.tensors != wanted.tensors || found.bytes != wanted.bytes) {
    throw BadRequest("model: " + folder.string() + " holds " + text_of(found) +
                     " beside its text model" + fix + " as it was");
  }
  for (const auto& [name, sha256] : wanted.sha256) {
    const auto at = carried.find(name);
    if (at == carried.end()) {
      throw BadRequest("model: " + folder.string() + ": tensor " + name + " is missing" + fix +
                       " as it was");
    }
    if (carried_hash(at->second) != sha256) {
      throw BadRequest("model: " + at->second.file->path().string() + ": tensor " + name +
                       " has changed since the run began" + fix + " as it was");
    }
  }
}

}  // namespace

std::optional<FolderTensors> open_origin(const Checkpoint& checkpoint) {
  const CheckpointFacts& facts = checkpoint.facts();
  const auto folder = first_folder(facts.model_folder);
  const CarriedRecord wanted = facts.carried.value_or(CarriedRecord{});
  const std::string fix =
      ": an export copies " + text_of(wanted) + " from there: put the folder back";
  if (!folder || !std::filesystem::is_directory(*folder)) {
    if (!facts.carried) return std::nullopt;
    throw BadRequest("model: " + (folder ? folder->string() : std::string("the model's folder")) +
                     " is not there" + fix);
  }
  if (!facts.carried) {
    // A run that carries nothing needs nothing of its folder; what changed there since is no fault.
    return std::nullopt;
  }
  const auto files = weight_files(*folder);
  if (files.empty()) throw BadRequest("model: " + folder->string() + " holds no weights" + fix);
  FolderTensors tensors = open_tensors(files, checkpoint.shape());
  require_as_recorded(*folder, tensors.carried, wanted, fix);
  return tensors;
}

std::optional<CarriedRecord> carried_from(const path& folder, const FolderTensors& tensors) {
  if (std::filesystem::exists(folder / "checkpoint.json")) return facts_in(folder).carried;
  if (tensors.carried.empty()) return std::nullopt;
  return record_carried(tensors.carried);
}

}  // namespace sluice::engine
