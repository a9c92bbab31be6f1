// Worth of an upgrade: time gained, and what is paid for it.
#pragma once

#include <cstdint>
#include <optional>

#include "planner/buying/report.hpp"
#include "planner/catalogue/composed_machine.hpp"

namespace sluice::planner {

/// Writes to `upgrade` the prices of turning `from` into `to`: of the new parts alone for a user
/// who owns `from`; of the whole machine `to` for one who does not.
void add_price(Upgrade& upgrade, const CountedParts& from, const CountedParts& to,
               const BuyRequest& request);

/// Amount in USD that an upgrade costs, to compare with the budget: of the parts for an owned
/// machine, else of the whole machine. None where no price is known.
[[nodiscard]] std::optional<double> asked_of_budget(const Upgrade& upgrade,
                                                    const BuyRequest& request);

/// Computes what each upgrade of `report` does to step and days, and whether it is within the
/// budget. Sorts upgrades by their step, fastest first; those with which the job does not fit come
/// last. `before` is the base machine's step (none where the job does not fit), `tokens_a_step` the
/// tokens of one step.
void judge_upgrades(BuyReport& report, const BuyRequest& request, std::optional<Duration> before,
                    std::int64_t tokens_a_step);

}  // namespace sluice::planner
