// m and v in 8 bits in a checkpoint: the codes and scales of each unit's vector, as they are in
// memory (engine/optimizer/moment_codes.hpp). Blocks that share a scale may reach over tensors, so
// they are stored by unit and not by tensor.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/model_files/safetensors.hpp"
#include "engine/model_files/safetensors_writer.hpp"
#include "engine/model_files/state_source.hpp"

namespace sluice::engine {

/// Codes and scales of the `values` of m or v (`part`), which begin with a block; the last block
/// may be shorter. `codes` has an element for each value, `scales` one for each block.
void code_moments(StatePart part, std::span<const float> values, std::span<std::byte> codes,
                  std::span<float> scales);
/// Values of `codes`, the first of which is element `skipped` of the block that scales[0] is of.
void decode_moments(StatePart part, std::span<const std::byte> codes, std::span<const float> scales,
                    std::size_t skipped, std::span<float> out);

/// Writes m or v (`files.part`) of `source`, whose values are those of codes, as safetensors files
/// of up to `files.most` bytes, unless a unit is larger: for unit N of the model, counted in
/// forward order, `unit.N.codes` (uint8, an element for each of the unit's vector with its padding)
/// and `unit.N.scales` (fp32, one for every 256 of them). Returns the files. `progress`, if any,
/// receives numbers of elements as they are written, from any thread. Throws EnvironmentError if
/// the disk refuses.
[[nodiscard]] std::vector<FileRecord> write_coded_moments(
    const StateFiles& files, const planner::ModelShape& shape, const StateSource& source,
    const std::function<void(std::int64_t elements)>& progress);

/// Moments as write_coded_moments wrote them.
class CodedMoments {
 public:
  /// Whether the file holds codes and scales of units.
  [[nodiscard]] static bool are_in(const std::filesystem::path& file);
  /// Maps the files of m or v (`part`). Throws BadRequest naming the folder of the files and the
  /// unit that lacks codes or scales, or has as many as another shape.
  CodedMoments(StatePart part, const std::vector<std::filesystem::path>& files,
               const planner::ModelShape& shape);

  /// Values of elements `first` to first + out.size() - 1 of the unit's vector. May be called from
  /// several threads at a time.
  void read(std::size_t unit, std::int64_t first, std::span<float> out) const;

 private:
  struct Unit {
    const SafetensorsFile* file = nullptr;
    std::span<const std::byte> codes, scales;
  };
  StatePart part_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::vector<Unit> units_;
};

}  // namespace sluice::engine
