#include "engine/model_files/checkpoint.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <thread>

#include "engine/model_files/checkpoint_file.hpp"
#include "engine/model_files/model_config.hpp"
#include "engine/model_files/safetensors_writer.hpp"
#include "planner/catalogue/store.hpp"
#include "planner/effort/parallel_for.hpp"
#include "planner/files/whole_file.hpp"
#include "planner/models/muon.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using std::filesystem::path;

constexpr const char* kManifest = "checkpoint.json";
constexpr std::string_view kFolderName = "step-";
/// Largest size of a file; small enough that cores share the hashing of a middling model.
constexpr Bytes kFileBytes = Bytes(1ll << 30);

/// File name of each part. The weights' files are named as in a model folder, so that a checkpoint
/// is one.
struct PartName {
  StatePart part;
  const char* name;
};
constexpr std::array kParts = {PartName{StatePart::weights, "model"}, PartName{StatePart::m, "m"},
                               PartName{StatePart::v, "v"}};

/// Whether a tensor of `shape` has no v under Muon.
bool lacks_v(const planner::ModelShape& shape, std::size_t unit,
             const planner::TensorSpec& tensor) {
  return unit > 0 && unit + 1 < planner::unit_count(shape) && planner::is_muons(tensor);
}

bool is_safetensors_of(const std::string& file, const std::string& part) {
  return file.ends_with(".safetensors") &&
         (file.starts_with(part + "-") || file == part + ".safetensors");
}

void compare(const path& folder, const FileRecord& stated) {
  const path file = folder / stated.name;
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  if (error) throw BadRequest(file.string() + ": " + error.message());
  if (static_cast<std::int64_t>(size) != stated.bytes.count()) {
    throw BadRequest(file.string() + ": holds " + std::to_string(size) + " bytes and should hold " +
                     std::to_string(stated.bytes.count()));
  }
  if (read_record(file) != stated) {
    throw BadRequest(file.string() + ": does not have the checksum it was written with");
  }
}

}  // namespace

std::string checkpoint_name(std::int64_t step) {
  return std::string(kFolderName) + std::to_string(step);
}

path write_checkpoint(const path& checkpoints, const CheckpointFacts& facts,
                      const std::string& config, const StateSource& state,
                      const std::function<void(std::int64_t)>& progress, std::int64_t threads) {
  path name = checkpoints / checkpoint_name(facts.step);
  FolderInWriting folder(name);
  CheckpointFile file{.facts = facts, .files = {}};
  WrittenFile config_file(folder.hidden() / "config.json");
  const std::string written = written_config(config, ElementType::fp32, "config.json");
  config_file.append(written);
  file.files.push_back(config_file.finish());
  const planner::ModelShape shape = planner::shape_from_config(written, "config.json");
  for (const auto& [part, part_name] : kParts) {
    const bool is_moment = part != StatePart::weights;
    const bool halves = is_moment && facts.state == planner::StateType::bf16;
    const bool codes = is_moment && facts.state == planner::StateType::int8;
    const StateFiles wanted{
        .folder = folder.hidden(),
        .name = part_name,
        .part = part,
        .type = halves ? ElementType::bf16 : ElementType::fp32,
        .most = kFileBytes,
        .threads = threads,
        .lacks = facts.lacks_second_moments && part == StatePart::v ? lacks_v : nullptr};
    const auto records = codes ? write_coded_moments(wanted, shape, state, progress)
                               : write_state(wanted, shape, state, progress);
    file.files.insert(file.files.end(), records.begin(), records.end());
  }
  WrittenFile manifest(folder.hidden() / kManifest);
  manifest.append(checkpoint_text(file));
  (void)manifest.finish();
  folder.commit();
  return name;
}

Checkpoint::Checkpoint(const path& folder) : folder_(folder) {
  const path manifest = folder / kManifest;
  CheckpointFile file = read_checkpoint_text(planner::read_whole_file(manifest), manifest.string());
  facts_ = std::move(file.facts);
  files_ = std::move(file.files);
  planner::parallel_for(files_.size(), std::thread::hardware_concurrency(),
                        [&](std::size_t i) { compare(folder_, files_[i]); });
  config_ = planner::read_whole_file(folder / "config.json");
  shape_ = planner::shape_from_config(config_, (folder / "config.json").string());
  for (const auto& [part, name] : kParts) {
    std::vector<path> parts;
    for (const FileRecord& record : files_) {
      if (is_safetensors_of(record.name, name)) parts.push_back(folder / record.name);
    }
    if (parts.empty()) throw BadRequest(manifest.string() + ": names no file of " + name);
    if (part != StatePart::weights && CodedMoments::are_in(parts[0])) {
      coded_[part] = std::make_unique<CodedMoments>(part, parts, shape_);
    } else {
      const bool lacks = facts_.lacks_second_moments && part == StatePart::v;
      tensors_[part] = std::make_unique<ModelWeights>(parts, shape_, lacks ? lacks_v : nullptr);
    }
  }
}

Bytes Checkpoint::bytes() const {
  Bytes sum(0);
  for (const FileRecord& file : files_) sum += file.bytes;
  return sum;
}

void Checkpoint::read(StatePart part, std::size_t unit, const planner::TensorSpec& tensor,
                      std::int64_t first, std::span<float> out) const {
  if (const auto coded = coded_.find(part); coded != coded_.end()) {
    return coded->second->read(unit, tensor.offset + first, out);
  }
  if (facts_.lacks_second_moments && part == StatePart::v && lacks_v(shape_, unit, tensor)) {
    std::ranges::fill(out, 0.0F);
    return;
  }
  tensors_.at(part)->read(StatePart::weights, unit, tensor, first, out);
}

std::vector<std::int64_t> checkpoint_steps(const path& checkpoints) {
  std::vector<std::int64_t> steps;
  if (!std::filesystem::is_directory(checkpoints)) return steps;
  for (const auto& entry : std::filesystem::directory_iterator(checkpoints)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kFolderName)) continue;
    std::int64_t step = 0;
    const char* end = name.data() + name.size();
    const auto [at, error] = std::from_chars(name.data() + kFolderName.size(), end, step);
    if (error == std::errc{} && at == end && step >= 0) steps.push_back(step);
  }
  std::ranges::sort(steps, std::greater<>());
  return steps;
}

std::unique_ptr<Checkpoint> newest_checkpoint(const path& checkpoints,
                                              const std::function<void(const std::string&)>& torn) {
  for (const std::int64_t step : checkpoint_steps(checkpoints)) {
    try {
      return std::make_unique<Checkpoint>(checkpoints / checkpoint_name(step));
    } catch (const BadRequest& error) {
      torn(error.what());
    }
  }
  return nullptr;
}

}  // namespace sluice::engine
