// A second stream for part of a task's kernels, so that the end of one kernel, which leaves most of
// the GPU idle, overlaps the start of the next.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <type_traits>

namespace sluice::engine {

/// Created on the current device. Deleted once its kernels are done: the caller waits for those.
class SideStream {
 public:
  /// Throws EnvironmentError.
  SideStream();

  [[nodiscard]] cudaStream_t get() const { return stream_.get(); }
  /// What is enqueued here from now on starts after what `main` holds now.
  void follow(cudaStream_t main) const;
  /// What is enqueued on `main` from now on starts after what is here now.
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
