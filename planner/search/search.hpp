// The search for the fastest plan that fits, with how far from the best it can be.
#pragma once

#include <variant>

#include "planner/effort/search_settings.hpp"
#include "planner/predictions/predict.hpp"
#include "planner/search/outcome.hpp"

namespace sluice::planner {

/// The fastest plan found, or, where no plan fits, which tier is short and by how much (without
/// remedies: planner/search/remedies.hpp). The disk is used where pins say so, or where no other
/// plan fits and the machine allows it (state_on_disk), and never with several ranks. Where several
/// ranks have no links of their own between their devices, or a network, and pins leave it open,
/// plans are searched in which ranks pull weights from host memory (Gather::host), too. Without a
/// deadline equal requests give equal plans. Throws BadRequest where no valid plan has the pins,
/// Interrupted once settings.stop asks it to.
[[nodiscard]] std::variant<Planned, Infeasible> search(const Predictor& predictor,
                                                       const SearchSettings& settings = {});

}  // namespace sluice::planner
