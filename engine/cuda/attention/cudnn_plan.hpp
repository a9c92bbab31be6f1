// A cuDNN operation graph compiled for an engine that runs it as one fused kernel.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/cuda/attention/cudnn.hpp"
#include "sim/units.hpp"

namespace sluice::engine {

/// Address of a plan's tensor `id`: in device memory, or in host memory for a scalar.
struct CudnnBinding {
  std::int64_t id = 0;
  void* address = nullptr;
};

/// Largest number of tensors that a plan binds.
inline constexpr std::size_t kMostCudnnBindings = 20;

/// A graph compiled for one of the library's engines. Executing it allocates no device memory.
class CudnnPlan {
 public:
  /// Chooses the first engine, in the library's own order (its heuristic, then its fallbacks), that
  /// supports the operations. This order is fixed for one library and GPU, so the choice repeats.
  /// Throws EnvironmentError that names `what` if no engine does.
  CudnnPlan(const Cudnn& cudnn, const std::vector<CudnnDescriptor>& operations,
            const std::string& what);

  [[nodiscard]] Bytes workspace() const { return workspace_; }
  /// Name of the engine with its settings, part of the numerics id.
  [[nodiscard]] const std::string& engine() const { return engine_; }
  /// Enqueues the kernel. Scalars are read before it returns; device memory must stay valid until
  /// `stream` has passed.
  void execute(const Cudnn& cudnn, cudaStream_t stream, std::span<const CudnnBinding> bindings,
               void* workspace, const std::string& what) const;

 private:
  [[nodiscard]] bool take(const Cudnn& cudnn, cudnnBackendDescriptor_t config);

  CudnnDescriptor graph_;
  std::optional<CudnnDescriptor> plan_;
  Bytes workspace_;
  std::string engine_;
};

}  // namespace sluice::engine
