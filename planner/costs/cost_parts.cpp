#include "planner/costs/cost_parts.hpp"

#include <algorithm>
#include <cmath>

namespace sluice::planner {

void CostParts::add(Seconds time, double relative_deviation, Evidence evidence) {
  total_ += time;
  variance_ += std::pow(time.count() * relative_deviation, 2);
  by_evidence_[static_cast<std::size_t>(evidence)] += time;
}

void CostParts::add_rate(double amount, const Fact& fact) {
  if (amount > 0 && fact.value > 0) {
    add(Seconds(amount / fact.value), deviation_of(fact), evidence_of(fact));
  }
}

void CostParts::add_bytes(Bytes bytes, const Bandwidth& rate) {
  if (bytes > Bytes(0) && rate.value > BytesPerSecond(0)) {
    add(bytes / rate.value, deviation_of(rate), evidence_of(rate));
  }
}

void CostParts::add_work(Flops work, const FlopRate& rate) {
  if (work > Flops(0) && rate.value > FlopsPerSecond(0)) {
    add(work / rate.value, deviation_of(rate), evidence_of(rate));
  }
}

void CostParts::add_times(double count, const MeasuredTime& fact) {
  add(count * fact.value, deviation_of(fact), evidence_of(fact));
}

Evidence CostParts::evidence() const {
  const auto most = std::ranges::max_element(by_evidence_);
  return static_cast<Evidence>(most - by_evidence_.begin());
}

double CostParts::relative_deviation() const {
  return total_.count() > 0 ? std::sqrt(variance_) / total_.count() : 0;
}

}  // namespace sluice::planner
