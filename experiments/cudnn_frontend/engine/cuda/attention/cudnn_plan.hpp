// A graph of cudnn-frontend compiled for an engine that runs it as one fused kernel.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/cuda/attention/cudnn.hpp"
#include "sim/units.hpp"

namespace cudnn_frontend::graph {
class Graph;
}  // namespace cudnn_frontend::graph

namespace sluice::engine {

/// Address that the caller gives for a plan's tensor `id`: in device memory, or in host memory for
/// a scalar.
struct CudnnBinding {
  std::int64_t id = 0;
  void* address = nullptr;
};

/// Largest number of tensors whose addresses a caller gives to a plan.
inline constexpr std::size_t kMostCudnnBindings = 20;

/// A graph of operations compiled for one of cuDNN's engines, which runs it as one kernel.
/// Executing it allocates no device memory.
class CudnnPlan {
 public:
  /// Compiles `graph` for the first engine, in cuDNN's own order (its heuristic, then its
  /// fallbacks), that supports it. This order is fixed for one library and GPU, so the choice
  /// repeats. Throws EnvironmentError that names `what` if no engine does.
  CudnnPlan(const Cudnn& cudnn, std::shared_ptr<cudnn_frontend::graph::Graph> graph,
            const std::string& what);

  [[nodiscard]] Bytes workspace() const { return workspace_; }
  /// Number of the chosen engine with its settings, as text; part of the numerics id.
  [[nodiscard]] const std::string& engine() const { return engine_; }
  /// Enqueues the kernel on `stream`, with an address in `bindings` for each of its tensors.
  /// Scalars are read before it returns; device memory must stay valid until `stream` has passed.
  /// Throws EnvironmentError that names `what` if cuDNN refuses.
  void execute(const Cudnn& cudnn, cudaStream_t stream, std::span<const CudnnBinding> bindings,
               void* workspace, const std::string& what) const;

 private:
  [[nodiscard]] bool take_first_engine();

  std::shared_ptr<cudnn_frontend::graph::Graph> graph_;
  std::vector<std::int64_t> ids_;  ///< Of bound tensors, in the order of the addresses it takes.
  Bytes workspace_;
  std::string engine_;
};

}  // namespace sluice::engine
