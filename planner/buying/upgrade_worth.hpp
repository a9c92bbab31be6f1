// What an order is worth: time gained, and what is paid for it.
#pragma once

#include <cstdint>
#include <optional>

#include "planner/buying/report.hpp"
#include "planner/catalogue/composed_machine.hpp"

namespace sluice::planner {

/// Prices of turning `from` into `to`: the new parts alone for who owns `from`, and the whole
/// machine `to` for who does not, which is what his budget is compared with.
void add_price(Upgrade& upgrade, const Composition& from, const Composition& to,
               const BuyRequest& request);

/// What the base machine with the order asks of a budget; none where no price is known.
[[nodiscard]] std::optional<double> asked_of_budget(const Upgrade& upgrade,
                                                    const BuyRequest& request);

/// What upgrades do to the step, the days and the budget; best first. `before`: the base's step.
void judge_upgrades(BuyReport& report, const BuyRequest& request, std::optional<Duration> before,
                    std::int64_t tokens_a_step);

}  // namespace sluice::planner
