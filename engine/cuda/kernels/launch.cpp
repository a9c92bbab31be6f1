#include "engine/cuda/kernels/launch.hpp"

#include <cuda_runtime_api.h>

#include <string>

#include "sim/error.hpp"

namespace sluice::engine::cuda {

void check_launch(const char* kernel) {
  if (const cudaError_t status = cudaGetLastError(); status != cudaSuccess) {
    throw EnvironmentError(std::string("the kernel ") + kernel +
                           " was refused by the CUDA runtime: " + cudaGetErrorString(status));
  }
}

}  // namespace sluice::engine::cuda
