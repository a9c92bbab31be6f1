#include "engine/model_files/tensor_places.hpp"

#include <algorithm>

#include "engine/model_files/expert_stacks.hpp"
#include "engine/model_files/published_tensors.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

/// Replaces a stored tensor among `places` by the tensors in memory that it holds.
void take_apart(TensorPlaces& places, const PublishedTensor& published) {
  const StoredTensor stored = places.at(published.name).stored;
  if (stored.shape != published.shape) {
    throw BadRequest("model: " + stored.file->path().string() + ": tensor " + stored.name +
                     ": has shape " + shape_text(stored.shape) + ", and config.json makes it " +
                     shape_text(published.shape));
  }
  places.erase(published.name);
  for (const PublishedPart& part : published.parts) {
    places.insert_or_assign(part.tensor.name,
                            TensorPlace{.stored = stored, .part = true, .map = part.map});
  }
}

bool is_joined(const PublishedTensor& published) {
  return published.parts.size() > 1 || published.name != published.parts.front().tensor.name;
}

}  // namespace

TensorPlaces find_places(const FolderTensors& tensors, const planner::ModelShape& shape) {
  TensorPlaces places;
  for (const auto& [name, stored] : tensors.text) places.emplace(name, TensorPlace{stored});
  const bool in_memory = is_of_checkpoint(tensors.files.front()->path());
  if (!in_memory) {
    const auto published = published_tensors(shape, StackOrder::published);
    const auto rows_first = published_tensors(shape, StackOrder::rows_first);
    for (std::size_t i = 0; i < published.size(); ++i) {
      const auto found = places.find(published[i].name);
      if (!is_joined(published[i]) || found == places.end()) continue;
      const bool blocks = found->second.stored.encoding == Encoding::mxfp4;
      take_apart(places, blocks ? rows_first[i] : published[i]);
    }
    unstack_experts(places, shape);
  }
  for (std::size_t unit = 0; unit < planner::unit_count(shape); ++unit) {
    for (const planner::TensorSpec& tensor : planner::unit_tensors(shape, unit).tensors) {
      const auto found = places.find(tensor.name);
      if (found == places.end() || found->second.part) continue;
      found->second.map = own_map(memory_sizes(tensor), in_memory ? std::nullopt : tensor.paired);
    }
  }
  return places;
}

}  // namespace sluice::engine
