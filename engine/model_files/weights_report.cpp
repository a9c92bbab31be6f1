#include "engine/model_files/weights_report.hpp"

#include <algorithm>
#include <set>

#include "engine/model_files/model_folder.hpp"
#include "engine/model_files/model_weights.hpp"
#include "engine/model_files/published_tensors.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

void compare_tensors(const TensorPlaces& places, const planner::ModelShape& shape,
                     WeightsReport& report) {
  std::set<std::string> wanted;
  for (std::size_t unit = 0; unit < planner::unit_count(shape); ++unit) {
    for (const planner::TensorSpec& tensor : planner::unit_tensors(shape, unit).tensors) {
      wanted.insert(tensor.name);
      const auto found = places.find(tensor.name);
      if (found == places.end()) {
        report.missing.push_back(tensor.name);
        continue;
      }
      const TensorPlace& place = found->second;
      const auto sizes = own_shape(tensor);
      if (place.part || place.stored.shape == sizes) continue;
      report.misfits.push_back({tensor.name, shape_text(place.stored.shape), shape_text(sizes)});
    }
  }
  for (const auto& [name, place] : places) {
    if (!wanted.contains(name)) report.surplus.push_back(name);
  }
}

}  // namespace

WeightsReport report_weights(const std::filesystem::path& folder,
                             const planner::ModelShape& shape) {
  WeightsReport report;
  try {
    const auto paths = weight_files(folder);
    if (paths.empty()) return report;
    const FolderTensors tensors = open_tensors(paths, shape);
    for (const auto& file : tensors.files) {
      ++report.files;
      for (const auto& [name, entry] : file->header().tensors) {
        report.bytes += Bytes(static_cast<std::int64_t>(entry.end - entry.begin));
        ++report.dtypes[entry.dtype];
      }
    }
    report.unread = tensors.unread;
    for (const auto& [name, tensor] : tensors.carried) report.unread.push_back(name);
    const TensorPlaces places = find_places(tensors, shape);
    report.stacked_experts = std::ranges::any_of(places, [](const auto& each) {
      return each.second.part && each.second.stored.shape.size() == 3;
    });
    compare_tensors(places, shape, report);
    if (!report.missing.empty() || !report.surplus.empty() || !report.misfits.empty())
      return report;
    const ModelWeights whole(paths, shape);  // What else training would refuse.
  } catch (const BadRequest& error) {
    report.refused = error.what();
  }
  return report;
}

}  // namespace sluice::engine
