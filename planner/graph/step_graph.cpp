#include "planner/graph/step_graph.hpp"

namespace sluice::planner {

const char* to_string(TaskKind kind) {
  switch (kind) {
    case TaskKind::data:
      return "data";
    case TaskKind::launch:
      return "launch";
    case TaskKind::load_tokens:
      return "load_tokens";
    case TaskKind::load_weights:
      return "load_weights";
    case TaskKind::load_experts:
      return "load_experts";
    case TaskKind::load_gradient:
      return "load_gradient";
    case TaskKind::load_activation:
      return "load_activation";
    case TaskKind::load_state:
      return "load_state";
    case TaskKind::forward:
      return "forward";
    case TaskKind::route:
      return "route";
    case TaskKind::loss:
      return "loss";
    case TaskKind::recompute:
      return "recompute";
    case TaskKind::backward:
      return "backward";
    case TaskKind::combine:
      return "combine";
    case TaskKind::sum_groups:
      return "sum_groups";
    case TaskKind::sum_ranks:
      return "sum_ranks";
    case TaskKind::norm:
      return "norm";
    case TaskKind::sum_norms:
      return "sum_norms";
    case TaskKind::grads:
      return "grads";
    case TaskKind::save_activation:
      return "save_activation";
    case TaskKind::store_gradient:
      return "store_gradient";
    case TaskKind::store_state:
      return "store_state";
    case TaskKind::update:
      return "update";
    case TaskKind::read_state:
      return "read_state";
    case TaskKind::write_state:
      return "write_state";
    case TaskKind::write_gradient:
      return "write_gradient";
    case TaskKind::read_gradient:
      return "read_gradient";
    case TaskKind::read_weights:
      return "read_weights";
    case TaskKind::write_weights:
      return "write_weights";
    case TaskKind::host_pass:
      return "host_pass";
    case TaskKind::gather_weights:
      return "gather_weights";
    case TaskKind::exchange_gradients:
      return "exchange_gradients";
    case TaskKind::gather_norms:
      return "gather_norms";
    case TaskKind::barrier:
      return "barrier";
    case TaskKind::store_weights:
      return "store_weights";
  }
  return "?";
}

const char* to_string(Arena arena) {
  switch (arena) {
    case Arena::device:
      return "device";
    case Arena::host:
      return "host";
    case Arena::disk:
      return "disk";
    case Arena::shared:
      return "shared";
  }
  return "?";
}

}  // namespace sluice::planner
