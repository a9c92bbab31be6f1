// The alternative to streaming: a rented node of eight GPUs that holds the model in their memories,
// by roofline.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/models/job.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// A node of GPUs that holds the model, fully sharded. Memory of one GPU: master, m, v and
/// gradients, 16 bytes a parameter, and the bf16 working copy, 2 bytes, divided by eight; two
/// gathered blocks; block inputs of a micro-batch (the rest recomputed where it must be); the
/// context.
///
///   least = max(compute of one GPU's sequences with every kernel at its ceiling,
///               3 x 2 bytes a parameter over NVLink in each direction)
///   step  = max(compute of one GPU's sequences with the kernels that machines' rows are predicted
///               with, the same over NVLink)
///   most  = their sum, with nothing under anything else
///
/// `least` is a bound: no schedule on that node is faster. No plan is made.
struct ResidentNode {
  std::string name;  ///< Name of the node in price files, such as "8x-h100-sxm".
  std::string gpu;
  bool fits = false;
  Bytes needed{0}, capacity{0};  ///< Bytes of memory that one GPU needs, and bytes that it has.
  Seconds least{0}, step{0}, most{0};
  double tokens_per_s = 0;  ///< Tokens over `step`.
  std::string limit = {};   ///< What bounds the node's step: "compute" or "nvlink".
};

/// A node for each GPU of the catalogue that is sold in nodes of eight. A node is priced only by
/// its own entry of a price file.
[[nodiscard]] std::vector<ResidentNode> resident_nodes(const Job& job);

}  // namespace sluice::planner
