#include "engine/cuda/runtime/device_query.hpp"

namespace sluice::engine::cuda {

DeviceQuery query_devices() {
  DeviceQuery query;
  query.reason = "this build has no CUDA parts (SLUICE_CUDA=OFF)";
  return query;
}

}  // namespace sluice::engine::cuda
