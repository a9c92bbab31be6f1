#include "engine/model_files/export_tensors.hpp"

#include <map>

#include "engine/model_files/tensor_places.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

/// The tensors of the text model with the names and shapes that they have in `origin`.
std::vector<PublishedTensor> as_in_origin(const planner::ModelShape& shape,
                                          const FolderTensors& origin) {
  const TensorPlaces places = find_places(origin, shape);
  std::vector<PublishedTensor> all;
  std::map<std::string, std::size_t> known;
  for (std::size_t unit = 0; unit < planner::unit_count(shape); ++unit) {
    for (const planner::TensorSpec& tensor : planner::unit_tensors(shape, unit).tensors) {
      const auto found = places.find(tensor.name);
      if (found == places.end()) {
        throw BadRequest("model: " + origin.files.front()->path().parent_path().string() +
                         ": tensor " + checkpoint_name_of(origin.form, tensor.name) +
                         " is missing, and an export has the tensors of this folder");
      }
      const TensorPlace& place = found->second;
      const auto [at, fresh] = known.emplace(place.stored.name, all.size());
      if (fresh)
        all.push_back({.name = place.stored.name, .shape = place.stored.shape, .parts = {}});
      all[at->second].parts.push_back({unit, tensor, place.map});
    }
  }
  return all;
}

}  // namespace

std::vector<OutTensor> export_tensors(const planner::ModelShape& shape,
                                      const std::optional<FolderTensors>& origin,
                                      const ExportOptions& options) {
  const bool mxfp4 = options.experts == ExpertNumbers::mxfp4;
  const bool wrapped = origin && origin->form != TextNames::own;
  const std::vector<PublishedTensor> published =
      wrapped ? as_in_origin(shape, *origin)
              : published_tensors(shape, mxfp4 ? StackOrder::rows_first : StackOrder::published);
  std::vector<OutTensor> out;
  bool rounded = false;
  for (const PublishedTensor& tensor : published) {
    if (mxfp4 && tensor.expert_matrices) {
      rounded = true;
      for (OutTensor& part : mxfp4_out(tensor)) out.push_back(std::move(part));
    } else {
      out.push_back(numbers_out(tensor, options.type));
    }
  }
  if (mxfp4 && !rounded) {
    throw BadRequest(
        "--dtype: mxfp4 is for models whose experts are published in it (gpt_oss), "
        "and this is a " +
        std::string(to_string(shape.family)) + " model: choose bf16");
  }
  if (origin) {
    for (const auto& [name, stored] : origin->carried) out.push_back(copy_out(stored));
  }
  return out;
}

}  // namespace sluice::engine
