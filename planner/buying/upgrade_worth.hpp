// The worth of an upgrade: time gained, and what is paid for it.
#pragma once

#include <cstdint>
#include <optional>

#include "planner/buying/report.hpp"
#include "planner/catalogue/composed_machine.hpp"

namespace sluice::planner {

/// Adds the prices of turning `from` into `to`: the new parts alone for a user who owns `from`; the
/// whole machine `to` for one who does not, which is compared with the budget.
void add_price(Upgrade& upgrade, const Composition& from, const Composition& to,
               const BuyRequest& request);

/// Amount of an upgrade to compare with the budget; none where no price is known.
[[nodiscard]] std::optional<double> asked_of_budget(const Upgrade& upgrade,
                                                    const BuyRequest& request);

/// Computes what each upgrade does to step, days and budget, and sorts upgrades by that, best
/// first. `before` is the base machine's step.
void judge_upgrades(BuyReport& report, const BuyRequest& request, std::optional<Duration> before,
                    std::int64_t tokens_a_step);

}  // namespace sluice::planner
