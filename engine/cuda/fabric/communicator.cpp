#include "engine/cuda/fabric/communicator.hpp"

#include <utility>

namespace sluice::engine {

Communicator::Communicator(const Nccl& nccl, World world, const ncclUniqueId& id,
                           const CommunicatorUse& use)
    : nccl_(nccl), patience_(use.patience) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  if (use.most_blocks > 0) config.maxCTAs = use.most_blocks;
#ifdef NCCL_CTA_POLICY_ZERO
  if (use.copy_engines) config.CTAPolicy = NCCL_CTA_POLICY_ZERO;
#endif
  const ncclResult_t begun = nccl.calls().init_rank(&handle_, world.size, id, world.rank, &config);
  try {
    settle("a communicator of all ranks", begun);
  } catch (...) {
    if (handle_ != nullptr) nccl_.calls().abort(handle_);
    throw;
  }
}

Communicator::~Communicator() {
  if (handle_ != nullptr) nccl_.calls().destroy(handle_);
}

bool Communicator::register_window(std::span<std::byte> memory) {
#ifdef NCCL_WIN_COLL_SYMMETRIC
  ncclWindow_t window = nullptr;
  run("a window of the device arena", [&](ncclComm_t handle) {
    return nccl_.calls().register_window(handle, memory.data(), memory.size(), &window,
                                         NCCL_WIN_COLL_SYMMETRIC);
  });
  return window != nullptr;
#else
  static_cast<void>(memory);
  return false;
#endif
}

ncclResult_t Communicator::state() const {
  return locked([&](ncclComm_t handle) {
    ncclResult_t found = ncclSuccess;
    const ncclResult_t asked = nccl_.calls().async_error(handle, &found);
    return asked == ncclSuccess ? found : asked;
  });
}

// What a call returns may be success while its work goes on in the background.
void Communicator::settle(const char* what, ncclResult_t status) const {
  const auto end = std::chrono::steady_clock::now() + patience_;
  if (status == ncclSuccess || status == ncclInProgress) {
    poll([&] {
      status = state();
      return status != ncclInProgress || std::chrono::steady_clock::now() > end;
    });
  }
  if (status == ncclInProgress) {
    throw EnvironmentError("NCCL: " + std::string(what) +
                           ": another rank did not come in time: see what it wrote");
  }
  nccl_.check(status, what);
}

std::optional<std::string> Communicator::error() const {
  const std::lock_guard lock(mutex_);
  if (handle_ == nullptr) return std::nullopt;
  ncclResult_t found = ncclSuccess;
  const ncclResult_t asked = nccl_.calls().async_error(handle_, &found);
  const ncclResult_t status = asked == ncclSuccess ? found : asked;
  if (status == ncclSuccess || status == ncclInProgress) return std::nullopt;
  return "NCCL: " + nccl_.text_of(status);
}

void Communicator::abort() noexcept {
  ncclComm_t handle = nullptr;
  {
    const std::lock_guard lock(mutex_);
    handle = std::exchange(handle_, nullptr);
  }
  if (handle != nullptr) nccl_.calls().abort(handle);
}

}  // namespace sluice::engine
