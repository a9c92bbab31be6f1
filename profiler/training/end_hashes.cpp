#include "profiler/training/end_hashes.hpp"

namespace sluice::profiler {

EndHashes::EndHashes(const engine::TrainingState& state, RunObserver& observer,
                     HashingBegins begins)
    : show_(observer.amount("hashing the trained state")),
      hashes_(std::async(begins == HashingBegins::now ? std::launch::async : std::launch::deferred,
                         [this, &state] {
                           return state.hashes([this](std::int64_t done, std::int64_t all) {
                             if (awaited_) show_(done, all);
                           });
                         })) {}

engine::StateHashes EndHashes::wait() {
  awaited_ = true;
  return hashes_.get();
}

}  // namespace sluice::profiler
