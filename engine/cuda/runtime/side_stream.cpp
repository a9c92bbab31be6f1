#include "engine/cuda/runtime/side_stream.hpp"

#include "engine/cuda/runtime/check.hpp"

namespace sluice::engine {
namespace {

cudaEvent_t event() {
  cudaEvent_t made = nullptr;
  check_cuda(cudaEventCreateWithFlags(&made, cudaEventDisableTiming), "an event");
  return made;
}

}  // namespace

SideStream::SideStream() {
  cudaStream_t made = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "a side stream");
  stream_.reset(made);
  begin_.reset(event());
  end_.reset(event());
}

void SideStream::follow(cudaStream_t main) const {
  check_cuda(cudaEventRecord(begin_.get(), main), "the start of a side stream");
  check_cuda(cudaStreamWaitEvent(stream_.get(), begin_.get()), "the start of a side stream");
}

void SideStream::join(cudaStream_t main) const {
  check_cuda(cudaEventRecord(end_.get(), stream_.get()), "the end of a side stream");
  check_cuda(cudaStreamWaitEvent(main, end_.get()), "the end of a side stream");
}

}  // namespace sluice::engine
