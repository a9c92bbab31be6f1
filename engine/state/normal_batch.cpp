#include "engine/state/normal_batch.hpp"

#include <algorithm>

#include "engine/optimizer/instruction_set.hpp"

namespace sluice::engine {

void fill_normals_avx512(const NormalStream& stream, std::uint64_t first, NormalBatch& batch);
void fill_normals_avx2(const NormalStream& stream, std::uint64_t first, NormalBatch& batch);
void fill_normals_portable(const NormalStream& stream, std::uint64_t first, NormalBatch& batch);

std::span<const NormalPath> normal_paths() {
  static const std::array<NormalPath, 3> paths = {
      NormalPath{"avx512", has_avx512(), fill_normals_avx512},
      NormalPath{"avx2", has_avx2(), fill_normals_avx2},
      NormalPath{"portable", true, fill_normals_portable}};
  return paths;
}

const NormalPath& fastest_normal_path() {
  return *std::ranges::find_if(normal_paths(), &NormalPath::supported);
}

}  // namespace sluice::engine
