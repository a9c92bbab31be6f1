#include "engine/cuda/stream_flags.hpp"

#include <cudaTypedefs.h>

#include "engine/cuda/check.hpp"
#include "engine/cuda/kernels/flag.hpp"

namespace sluice::engine {
namespace {

using Write = PFN_cuStreamWriteValue32_v11070;
using Wait = PFN_cuStreamWaitValue32_v11070;
constexpr unsigned kVersion = 11070;

void* driver_function(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  const cudaError_t status =
      cudaGetDriverEntryPointByVersion(name, &function, kVersion, cudaEnableDefault, &found);
  if (status != cudaSuccess) (void)cudaGetLastError();
  return status == cudaSuccess && found == cudaDriverEntryPointSuccess ? function : nullptr;
}

CUdeviceptr address(EndFlag* flag) { return reinterpret_cast<CUdeviceptr>(flag); }

void check_driver(CUresult status, const char* what) {
  if (status == CUDA_SUCCESS) return;
  throw EnvironmentError(std::string("CUDA: ") + what + ": driver error " +
                         std::to_string(static_cast<int>(status)));
}

}  // namespace

StreamFlags::StreamFlags(CUstream_st* stream) {
  void* const write = driver_function("cuStreamWriteValue32");
  void* const wait = driver_function("cuStreamWaitValue32");
  if (write == nullptr || wait == nullptr) return;
  SharedMemory memory(sizeof(EndFlag));
  auto* flag = new (memory.data()) EndFlag(0);
  const bool works = reinterpret_cast<Write>(write)(stream, address(flag), 1, 0) == CUDA_SUCCESS &&
                     reinterpret_cast<Wait>(wait)(stream, address(flag), 1,
                                                  CU_STREAM_WAIT_VALUE_GEQ) == CUDA_SUCCESS;
  check_cuda(cudaStreamSynchronize(stream), "a stream memory operation");
  if (!works || flag->load() != 1) return;
  write_ = write;
  wait_ = wait;
}

void StreamFlags::write(CUstream_st* stream, EndFlag* flag, std::int64_t step) const {
  if (write_ == nullptr) {
    cuda::write_flag(stream, flag, static_cast<std::int32_t>(step));
    return;
  }
  check_driver(
      reinterpret_cast<Write>(write_)(stream, address(flag), static_cast<cuuint32_t>(step), 0),
      "a stream's write to a flag");
}

void StreamFlags::wait(CUstream_st* stream, EndFlag* flag, std::int64_t step) const {
  check_driver(reinterpret_cast<Wait>(wait_)(stream, address(flag), static_cast<cuuint32_t>(step),
                                             CU_STREAM_WAIT_VALUE_GEQ),
               "a stream's wait for a flag");
}

}  // namespace sluice::engine
