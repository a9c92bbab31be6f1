// A second stream for part of a task's kernels, so that the end of one kernel, which leaves most of
// the GPU idle, overlaps the start of the next.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <type_traits>

namespace sluice::engine {

/// A second CUDA stream for some of a task's kernels, on the device that was current at
/// construction. The caller must wait for its kernels before destroying it.
class SideStream {
 public:
  /// Creates the stream. Throws EnvironmentError if that fails.
  SideStream();

  [[nodiscard]] cudaStream_t get() const { return stream_.get(); }
  /// Makes all that is enqueued on this stream from now on start only after the work that is on
  /// `main` now.
  void follow(cudaStream_t main) const;
  /// Makes all that is enqueued on `main` from now on start only after the work that is on this
  /// stream now.
  void join(cudaStream_t main) const;

 private:
  struct DestroyStream {
    void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
  };
  struct DestroyEvent {
    void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
  };
  using Stream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, DestroyStream>;
  using Event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, DestroyEvent>;

  Stream stream_;
  Event begin_;
  Event end_;
};

}  // namespace sluice::engine
