#include "engine/cuda/runtime/device_query.hpp"

namespace sluice::engine::cuda {

std::string to_string(Version version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor);
}

}  // namespace sluice::engine::cuda
