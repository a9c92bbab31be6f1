#include "engine/cuda/runtime/stream_flags.hpp"

#include <cudaTypedefs.h>

#include "engine/cuda/kernels/flag.hpp"
#include "engine/cuda/runtime/check.hpp"
#include "engine/cuda/runtime/shared_memory.hpp"

namespace sluice::engine {
namespace {

using WriteValue = PFN_cuStreamWriteValue32_v11070;
using WaitValue = PFN_cuStreamWaitValue32_v11070;
constexpr unsigned kVersion = 11070;

void* driver_function(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  const cudaError_t status =
      cudaGetDriverEntryPointByVersion(name, &function, kVersion, cudaEnableDefault, &found);
  if (status != cudaSuccess) (void)cudaGetLastError();
  return status == cudaSuccess && found == cudaDriverEntryPointSuccess ? function : nullptr;
}

CUdeviceptr address_of(EndFlag* flag) { return reinterpret_cast<CUdeviceptr>(flag); }

void check_driver(CUresult status, const char* what) {
  if (status == CUDA_SUCCESS) return;
  throw EnvironmentError(std::string("CUDA: ") + what + ": driver error " +
                         std::to_string(static_cast<int>(status)));
}

}  // namespace

StreamFlags::StreamFlags(CUstream_st* stream) {
  void* const function = driver_function("cuStreamWriteValue32");
  if (function == nullptr) return;
  SharedMemory memory(sizeof(EndFlag));
  auto* flag = new (memory.data()) EndFlag(0);
  const CUresult status = reinterpret_cast<WriteValue>(function)(stream, address_of(flag), 1, 0);
  check_cuda(cudaStreamSynchronize(stream), "a stream's write to a flag");
  if (status != CUDA_SUCCESS || flag->load() != 1) return;
  write_ = function;
  void* const wait = driver_function("cuStreamWaitValue32");
  if (wait == nullptr) return;
  // The flag has this value already, so an operation that works ends at once.
  const CUresult waits =
      reinterpret_cast<WaitValue>(wait)(stream, address_of(flag), 1, CU_STREAM_WAIT_VALUE_GEQ);
  check_cuda(cudaStreamSynchronize(stream), "a stream's wait for a flag");
  if (waits == CUDA_SUCCESS) wait_ = wait;
}

void StreamFlags::wait(CUstream_st* stream, EndFlag* flag, std::int32_t value) const {
  check_driver(
      reinterpret_cast<WaitValue>(wait_)(stream, address_of(flag), static_cast<cuuint32_t>(value),
                                         CU_STREAM_WAIT_VALUE_GEQ),
      "a stream's wait for a flag");
}

void StreamFlags::write(CUstream_st* stream, EndFlag* flag, std::int64_t step) const {
  if (write_ == nullptr) {
    cuda::write_flag(stream, flag, static_cast<std::int32_t>(step));
    return;
  }
  check_driver(reinterpret_cast<WriteValue>(write_)(stream, address_of(flag),
                                                    static_cast<cuuint32_t>(step), 0),
               "a stream's write to a flag");
}

}  // namespace sluice::engine
