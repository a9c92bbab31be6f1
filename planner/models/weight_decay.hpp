// Which tensors weight decay applies to, by their names.
#pragma once

#include <string_view>

namespace sluice::planner {

/// Whether transformers' trainer decays a tensor of this name (Trainer.get_decay_parameter_names,
/// 5.24): every tensor but those whose name contains "bias", "layernorm" or "rmsnorm", or has a
/// part between dots that is "norm" or ends in "_norm". So A_log, conv1d.weight and sinks decay,
/// and dt_bias does not.
[[nodiscard]] bool decays_by_name(std::string_view name);

}  // namespace sluice::planner
