#include "engine/model_files/folder_tensors.hpp"

#include <set>

#include "engine/model_files/model_folder.hpp"
#include "engine/model_files/weights_config.hpp"
#include "sim/error.hpp"

namespace sluice::engine {

bool left_unread(const std::string& name, const planner::ModelShape& shape) {
  return name.ends_with(".rotary_emb.inv_freq") || (shape.tied_head && name == "lm_head.weight");
}

bool is_of_checkpoint(const std::filesystem::path& file) {
  return std::filesystem::exists(file.parent_path() / "checkpoint.json");
}

FolderTensors open_tensors(const std::vector<std::filesystem::path>& files,
                           const planner::ModelShape& shape) {
  check(!files.empty(), "weights lie in files");
  FolderTensors sorted;
  std::set<std::string> names;
  for (const std::filesystem::path& path : files) {
    sorted.files.push_back(std::make_unique<SafetensorsFile>(path));
    for (const auto& [name, entry] : sorted.files.back()->header().tensors) names.insert(name);
  }
  sorted.form = text_names_of(names);
  const WeightsConfig config = read_weights_config(files.front().parent_path());
  std::map<std::string, const SafetensorsFile*> seen;
  for (const auto& file : sorted.files) {
    for (const auto& [name, entry] : file->header().tensors) {
      if (const auto [other, fresh] = seen.emplace(name, file.get()); !fresh) {
        throw BadRequest("model: " + file->path().string() + ": tensor " + name + ": is in " +
                         other->second->path().filename().string() + " too");
      }
      const auto own = text_name(sorted.form, name, shape.layers, config.prediction_layers);
      const StoredTensor tensor = plain_tensor(name, *file, entry);
      if (!own) {
        sorted.carried.emplace(name, tensor);
        continue;
      }
      refuse_quantised_tensor(file->path().string(), name);
      if (left_unread(*own, shape)) {
        if (*own == "lm_head.weight") sorted.tied_head = tensor;
        sorted.unread.push_back(name);
      } else {
        sorted.text.emplace(*own, tensor);
      }
    }
  }
  join_scales(sorted.text, config.block);
  return sorted;
}

}  // namespace sluice::engine
