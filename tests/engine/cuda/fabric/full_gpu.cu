#include <cuda_runtime.h>

#include <stdexcept>

#include "tests/engine/cuda/fabric/full_gpu.hpp"

namespace sluice::engine::cuda::testing {
namespace {

constexpr int kThreads = 1024;

__global__ void __launch_bounds__(kThreads) wait_for_end(const volatile int* ended) {
  while (*ended == 0) __nanosleep(1000);
}

}  // namespace

void occupy_all_multiprocessors(CUstream_st* stream, const volatile int* ended) {
  int device = 0, multiprocessors = 0, threads = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device) !=
          cudaSuccess ||
      cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, device) !=
          cudaSuccess) {
    throw std::runtime_error("the GPU's size is unknown");
  }
  wait_for_end<<<multiprocessors*(threads / kThreads), kThreads, 0, stream>>>(ended);
  if (cudaGetLastError() != cudaSuccess) throw std::runtime_error("the kernel was refused");
}

}  // namespace sluice::engine::cuda::testing
