#include "profiler/training/end_hashes.hpp"

namespace sluice::cli {

EndHashes::EndHashes(const engine::TrainingState& state, HashingBegins begins)
    : hashes_(std::async(begins == HashingBegins::now ? std::launch::async : std::launch::deferred,
                         [this, &state] {
                           return state.hashes([this](std::int64_t done, std::int64_t all) {
                             if (awaited_) bar_.show(done, all);
                           });
                         })) {}

engine::StateHashes EndHashes::wait() {
  awaited_ = true;
  return hashes_.get();
}

}  // namespace sluice::cli
