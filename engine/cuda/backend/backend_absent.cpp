// Entry points of the cuda backend in a build without CUDA.
#include "engine/cuda/backend/backend.hpp"
#include "sim/error.hpp"

namespace sluice::engine::cuda {
namespace {

[[noreturn]] void refuse() {
  throw EnvironmentError(
      "this build has no cuda backend: install the wheel with CUDA or build with SLUICE_CUDA=ON, "
      "or use --machine here --backend "
      "host");
}

}  // namespace

void require_backend() { refuse(); }

std::unique_ptr<engine::Device> make_device(const planner::Job& /*job*/,
                                            const ArenaSizes& /*arenas*/,
                                            const ArenaSizes& /*capacity*/, int /*threads*/,
                                            bool /*staged*/,
                                            std::optional<BytesPerSecond> /*paced*/,
                                            World /*world*/, World /*here*/) {
  refuse();
}

std::shared_ptr<void> keep_pinned_memory(Bytes) { return nullptr; }

Bytes kept_pinned_memory() { return Bytes(0); }

std::string numerics_id(const planner::Job& /*job*/) { refuse(); }

}  // namespace sluice::engine::cuda
