#include "engine/cuda/attention/cudnn_plan.hpp"

#include <algorithm>
#include <array>

#include "sim/error.hpp"

namespace sluice::engine {
namespace {

/// Number of engine configurations that a heuristic proposes.
std::int64_t proposals(const Cudnn& cudnn, cudnnBackendDescriptor_t heuristic,
                       const std::string& what) {
  std::int64_t count = 0;
  cudnn.check(cudnn.calls().get_attribute(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                          CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr),
              what);
  return count;
}

/// The descriptors that attribute `name` holds, at most `at_most`: created empty, filled by the
/// library.
std::vector<CudnnDescriptor> descriptors_of(const Cudnn& cudnn, cudnnBackendDescriptor_t descriptor,
                                            cudnnBackendAttributeName_t name,
                                            cudnnBackendDescriptorType_t type, std::int64_t at_most,
                                            const std::string& what) {
  std::vector<CudnnDescriptor> results;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (std::int64_t i = 0; i < at_most; ++i) {
    results.emplace_back(cudnn, type);
    raw.push_back(results.back().get());
  }
  std::int64_t count = 0;
  cudnn.check(cudnn.calls().get_attribute(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, at_most,
                                          &count, raw.data()),
              what);
  results.erase(results.begin() + std::min(count, at_most), results.end());
  return results;
}

template <class Value>
Value value_of(const Cudnn& cudnn, cudnnBackendDescriptor_t descriptor,
               cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
               const std::string& what) {
  Value value{};
  std::int64_t count = 1;
  cudnn.check(cudnn.calls().get_attribute(descriptor, name, type, 1, &count, &value), what);
  return value;
}

/// Text of an engine's settings, "6{24=1 14=2}": global index, then knob type = value.
std::string engine_text(const Cudnn& cudnn, cudnnBackendDescriptor_t engine,
                        cudnnBackendDescriptor_t config) {
  const std::string what = "an engine's name";
  std::string text = std::to_string(value_of<std::int64_t>(
      cudnn, engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, what));
  text += '{';
  for (const CudnnDescriptor& knob :
       descriptors_of(cudnn, config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                      CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS, what)) {
    if (text.back() != '{') text += ' ';
    text += std::to_string(value_of<cudnnBackendKnobType_t>(
                cudnn, knob.get(), CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, what)) +
            '=' +
            std::to_string(value_of<std::int64_t>(
                cudnn, knob.get(), CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, what));
  }
  return text + '}';
}

}  // namespace

CudnnPlan::CudnnPlan(const Cudnn& cudnn, const std::vector<CudnnDescriptor>& operations,
                     const std::string& what)
    : graph_(cudnn, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
  std::vector<cudnnBackendDescriptor_t> raw;
  raw.reserve(operations.size());
  for (const CudnnDescriptor& operation : operations) raw.push_back(operation.get());
  cudnnHandle_t handle = cudnn.handle();
  graph_.set(cudnn, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
             static_cast<std::int64_t>(raw.size()), raw.data(), what + ": the graph");
  graph_.set(cudnn, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle,
             what + ": the graph");
  graph_.finalize(cudnn, what + ": the graph");

  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    CudnnDescriptor heuristic(cudnn, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristic.set(cudnn, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_.get(), what);
    heuristic.set(cudnn, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode, what);
    if (cudnn.calls().finalize(heuristic.get()) != CUDNN_STATUS_SUCCESS) continue;
    for (const CudnnDescriptor& config : descriptors_of(
             cudnn, heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
             CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, proposals(cudnn, heuristic.get(), what), what)) {
      if (take(cudnn, config.get())) return;
    }
  }
  throw EnvironmentError("cuDNN " + std::to_string(cudnn.version()) + ": no engine takes " + what +
                         " on this GPU");
}

bool CudnnPlan::take(const Cudnn& cudnn, cudnnBackendDescriptor_t config) {
  const std::vector<CudnnDescriptor> engines =
      descriptors_of(cudnn, config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1,
                     "an engine of a configuration");
  if (engines.empty()) return false;
  CudnnDescriptor plan(cudnn, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  cudnnHandle_t handle = cudnn.handle();
  plan.set(cudnn, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle, "a plan");
  plan.set(cudnn, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config, "a plan");
  if (cudnn.calls().finalize(plan.get()) != CUDNN_STATUS_SUCCESS) return false;
  workspace_ =
      Bytes(value_of<std::int64_t>(cudnn, plan.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                   CUDNN_TYPE_INT64, "a plan's workspace"));
  engine_ = engine_text(cudnn, engines.front().get(), config);
  plan_.emplace(std::move(plan));
  return true;
}

void CudnnPlan::execute(const Cudnn& cudnn, cudaStream_t stream,
                        std::span<const CudnnBinding> bindings, void* workspace,
                        const std::string& what) const {
  check(bindings.size() <= kMostCudnnBindings, "a cuDNN plan binds at most 20 tensors");
  std::array<std::int64_t, kMostCudnnBindings> ids{};
  std::array<void*, kMostCudnnBindings> addresses{};
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    ids[i] = bindings[i].id;
    addresses[i] = bindings[i].address;
  }
  const auto count = static_cast<std::int64_t>(bindings.size());
  CudnnDescriptor pack(cudnn, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(cudnn, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count,
           addresses.data(), what);
  pack.set(cudnn, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids.data(), what);
  pack.set(cudnn, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace, what);
  pack.finalize(cudnn, what);
  cudnn.check(cudnn.calls().set_stream(cudnn.handle(), stream), what);
  cudnn.check(cudnn.calls().execute(cudnn.handle(), plan_->get(), pack.get()), what);
}

}  // namespace sluice::engine
