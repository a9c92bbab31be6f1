// Static memory layout: one address for every tensor of a step graph. Tensors share bytes only
// where the graph orders their uses.
#pragma once

#include <optional>
#include <string>

#include "planner/graph/step_graph.hpp"

namespace sluice::planner {

/// Places every tensor of `graph`. Persistent tensors have bytes of their own; others share bytes
/// when the graph orders every use of one before every use of the other, in each step and from each
/// step to the next.
[[nodiscard]] Layout lay_out(const StepGraph& graph);

/// The first fault of `layout` for `graph`; none where it is right. Checks from the accesses alone:
/// every tensor placed inside its arena and aligned, every access of step 2 within the tensor and
/// between first_task and last_task (which are themselves its first and last access), and tensors
/// that share bytes ordered by the graph.
[[nodiscard]] std::optional<std::string> find_layout_fault(const StepGraph& graph,
                                                           const Layout& layout);

}  // namespace sluice::planner
