#include "engine/cuda/kernels/flag.hpp"
#include "engine/cuda/kernels/launch.hpp"

namespace sluice::engine::cuda {
namespace {

__global__ void write(volatile std::int32_t* flag, std::int32_t value) {
  __threadfence_system();
  *flag = value;
}

}  // namespace

void write_flag(CUstream_st* stream, void* flag, std::int32_t value) {
  write<<<1, 1, 0, stream>>>(static_cast<volatile std::int32_t*>(flag), value);
  check_launch("write_flag");
}

}  // namespace sluice::engine::cuda
