#include "engine/cuda/attention/cudnn_plan.hpp"

#include <cudnn_frontend.h>

#include <algorithm>
#include <array>

#include "sim/error.hpp"

namespace sluice::engine {
namespace {

/// Text of an engine's settings, "6{24=1 14=2}": global index, then knob type = value.
/// cudnn-frontend writes "eng6_k24=1_k14=2".
std::string engine_text(const std::string& tag) {
  std::string text;
  for (const char letter : tag.substr(std::min(tag.size(), std::size_t{3}))) {
    if (letter == '_') {
      text += text.find('{') == std::string::npos ? '{' : ' ';
    } else if (letter != 'k') {
      text += letter;
    }
  }
  return text + (text.find('{') == std::string::npos ? "{}" : "}");
}

}  // namespace

CudnnPlan::CudnnPlan(const Cudnn& cudnn, std::shared_ptr<cudnn_frontend::graph::Graph> graph,
                     const std::string& what)
    : graph_(std::move(graph)) {
  const auto require = [&](cudnn_frontend::error_t error) {
    if (error.is_bad()) cudnn.fail(what, error.get_message());
  };
  // The engine captures no CUDA graphs; a query of capture would go through libcudart.so.
  graph_->set_cuda_graph_retention(cudnn_frontend::CudaGraphRetention_t::NONE);
  require(graph_->validate());
  require(graph_->build_operation_graph(cudnn.handle()));
  if (!take_first_engine()) {
    throw EnvironmentError("cuDNN " + std::to_string(cudnn.version()) + ": no engine takes " +
                           what + " on this GPU");
  }
  require(graph_->prepare_variant_pack_template());
  ids_ = graph_->get_variant_pack_uids_sorted();
  std::string tag;
  require(graph_->get_plan_name(tag));
  engine_ = engine_text(tag);
  std::int64_t bytes = 0;
  require(graph_->get_workspace_size(bytes));
  workspace_ = Bytes(bytes);
}

/// Builds the first configuration that can be built. Fallbacks are asked for only if none of the
/// heuristic's can.
bool CudnnPlan::take_first_engine() {
  using cudnn_frontend::HeurMode_t;
  std::int64_t next = 0;
  for (const HeurMode_t mode : {HeurMode_t::A, HeurMode_t::FALLBACK}) {
    if (graph_->create_execution_plans({mode}).is_bad()) continue;
    for (; next < graph_->get_execution_plan_count(); ++next) {
      if (graph_->build_plan_at_index(next).is_good()) return true;
    }
  }
  return false;
}

void CudnnPlan::execute(const Cudnn& cudnn, cudaStream_t stream,
                        std::span<const CudnnBinding> bindings, void* workspace,
                        const std::string& what) const {
  check(bindings.size() <= kMostCudnnBindings, "a cuDNN plan binds at most 20 tensors");
  check(bindings.size() == ids_.size(), "each tensor of a cuDNN plan has an address");
  std::array<void*, kMostCudnnBindings> addresses{};
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    const auto binding = std::ranges::find(bindings, ids_[i], &CudnnBinding::id);
    check(binding != bindings.end(), "each tensor of a cuDNN plan has an address");
    addresses[i] = binding->address;
  }
  cudnn.check(cudnn_frontend::detail::set_stream(cudnn.handle(), stream), what);
  cudnn_frontend::error_t error =
      graph_->execute(cudnn.handle(), addresses.data(), static_cast<int>(ids_.size()), workspace);
  if (error.is_bad()) cudnn.fail(what, error.get_message());
}

}  // namespace sluice::engine
