#include "engine/model_files/weights_report.hpp"

#include <memory>
#include <set>

#include "engine/model_files/expert_stacks.hpp"
#include "engine/model_files/model_folder.hpp"
#include "engine/model_files/model_weights.hpp"
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
      std::vector<std::int64_t> sizes = {tensor.cols};
      if (tensor.rows > 1 || tensor.decays) sizes.insert(sizes.begin(), tensor.rows);
      const TensorPlace& place = found->second;
      if (place.part || place.entry->shape == sizes) continue;
      report.misfits.push_back({tensor.name, shape_text(place.entry->shape), shape_text(sizes)});
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
    std::vector<std::unique_ptr<SafetensorsFile>> files;
    TensorPlaces places;
    const auto paths = weight_files(folder);
    for (const std::filesystem::path& path : paths) {
      files.push_back(std::make_unique<SafetensorsFile>(path));
      ++report.files;
      for (const auto& [name, entry] : files.back()->header().tensors) {
        report.bytes += Bytes(static_cast<std::int64_t>(entry.end - entry.begin));
        ++report.dtypes[entry.dtype];
        if (left_unread(name, shape)) {
          report.unread.push_back(name);
        } else {
          places.emplace(name, TensorPlace{.file = files.back().get(), .entry = &entry});
        }
      }
    }
    if (report.files == 0) return report;
    const std::size_t before = places.size();
    unstack_experts(places, shape);
    report.stacked_experts = places.size() != before;
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
