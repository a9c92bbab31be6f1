#include "engine/cuda/fabric/gpu_fabric.hpp"

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <cstdlib>

#include "engine/cuda/fabric/communicator.hpp"
#include "engine/cuda/fabric/fabric_watch.hpp"
#include "engine/cuda/runtime/check.hpp"
#include "engine/cuda/runtime/shared_memory.hpp"
#include "engine/cuda/runtime/stream_flags.hpp"
#include "engine/execution/poll.hpp"
#include "engine/ranks/own_devices.hpp"
#include "sim/warning.hpp"

namespace sluice::engine {
namespace {

/// Time that ranks have to end in order after a collective failed. A stream that waits for a lost
/// rank cannot be ended but with its process.
constexpr std::chrono::seconds kTimeToEnd{30};

/// The number that rank 0 makes for the others to meet by.
ncclUniqueId shared_id(const Nccl& nccl, Control& control) {
  ncclUniqueId id{};
  if (control.world().rank == 0) nccl.check(nccl.calls().unique_id(&id), "an id for all ranks");
  const std::string text = control.broadcast({std::begin(id.internal), std::end(id.internal)});
  check(text.size() == sizeof id.internal, "an id has its size");
  std::copy(text.begin(), text.end(), id.internal);
  return id;
}

/// Whether the current device reaches the memory of all others of the run.
bool reaches_all(World world) {
  int device = 0;
  check_cuda(cudaGetDevice(&device), "the device");
  for (int peer = 0; peer < world.size; ++peer) {
    int reaches = 0;
    if (peer == device) continue;
    if (cudaDeviceCanAccessPeer(&reaches, device, peer) != cudaSuccess) (void)cudaGetLastError();
    if (reaches == 0) return false;
  }
  return true;
}

/// The current device's UUID as nvidia-smi writes it.
std::string device_identity() {
  int device = 0;
  check_cuda(cudaGetDevice(&device), "the device");
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, device), "a GPU's properties");
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    const auto byte = static_cast<unsigned char>(properties.uuid.bytes[i]);
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

/// Whether a status is that of a call that failed.
bool is_fault(ncclResult_t status) { return status != ncclSuccess && status != ncclInProgress; }

/// Calls move(to, from) in one group for every other member, by the members' indices, so that each
/// sends to the one of which it is received; returns the first status that tells of a fault.
template <class Move>
ncclResult_t among_members(const NcclCalls& calls, const Members& members, int index,
                           const Move& move) {
  ncclResult_t first = calls.group_start();
  const auto note = [&](ncclResult_t status) {
    if (!is_fault(first)) first = status;
  };
  for (int i = 1; i < members.count; ++i) {
    note(move((index + i) % members.count, (index + members.count - i) % members.count));
  }
  note(calls.group_end());
  return first;
}

/// Ends the process with `line` unless it has ended by itself within kTimeToEnd.
void end_process_in_time(const std::string& line) {
  std::thread([line] {
    std::this_thread::sleep_for(kTimeToEnd);
    std::fprintf(stderr, "sluice: error: %s\n", line.c_str());
    std::_Exit(static_cast<int>(ExitCode::environment));
  }).detach();
}

}  // namespace

std::optional<std::string> why_no_gpu_fabric(int ranks) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess) devices = 0;
  if (devices < ranks) {
    return std::to_string(ranks) + " ranks need as many GPUs and this computer shows " +
           std::to_string(devices) + ": use fewer ranks, or see CUDA_VISIBLE_DEVICES";
  }
  cudaDeviceProp first{};
  check_cuda(cudaGetDeviceProperties(&first, 0), "the first GPU's properties");
  for (int device = 1; device < ranks; ++device) {
    cudaDeviceProp other{};
    check_cuda(cudaGetDeviceProperties(&other, device), "a GPU's properties");
    if (std::string(other.name) == first.name) continue;
    return "ranks need GPUs of one model, and GPU " + std::to_string(device) + " is " + other.name +
           " beside " + first.name + ": choose equal ones by CUDA_VISIBLE_DEVICES";
  }
  return std::nullopt;
}

/// The communicators of a rank and their watch, made once all ranks are there.
struct GpuFabric::Connection {
  Connection(const RankLinks& links, const FabricMemory& memory, CUstream_st* stream,
             const GpuFabricSettings& settings)
      : control(*links.control),
        world(links.world()),
        gathers(nccl, world, shared_id(nccl, control),
                {.copy_engines = true, .most_blocks = settings.exchange_blocks}),
        exchanges(nccl, world, shared_id(nccl, control),
                  {.copy_engines = false, .most_blocks = settings.exchange_blocks}),
        progress(sizeof(EndFlag)),
        ended(new (progress.data()) EndFlag(0)),
        flags(stream) {
    const bool window = nccl.has_copy_engines() && gathers.register_window(memory.whole());
    int driver = 0;
    check_cuda(cudaDriverGetVersion(&driver), "the driver's version");
    constexpr int kOldestDriver = 12050;
    by_copy_engines = window && driver >= kOldestDriver && reaches_all(world);
    if (!by_copy_engines && world.rank == 0) tell_why(window, driver >= kOldestDriver);
  }

  void tell_why(bool window, bool driver) const {
    const std::string why = !nccl.has_copy_engines() ? "NCCL " + nccl_version_text(nccl.version()) +
                                                           " is older than 2.28"
                            : !window ? "NCCL refuses a window of the device arena"
                            : !driver ? "the driver is older than CUDA 12.5"
                                      : "the GPUs do not reach each other's memory";
    sim::note(
        "weights are gathered by kernels, which take multiprocessors from products, not by "
        "copy engines: " +
        why);
  }

  void watch(std::chrono::milliseconds patience) {
    watcher = std::make_unique<FabricWatch>(
        WatchedFabric{.rank = world.rank,
                      .error =
                          [this] {
                            auto error = gathers.error();
                            return error ? error : exchanges.error();
                          },
                      .told = [this] { return control.failure(); },
                      .enqueued = [this] { return std::int64_t{enqueued.load()}; },
                      .ended = [this] { return std::int64_t{ended->load()}; },
                      .tell = [this](const std::string& line) { control.fail(line); },
                      .give_up = [this](const std::string& line) { give_up(line); }},
        WatchTimes{.patience = patience});
  }

  void give_up(const std::string& line) {
    lost.store(true);
    end_process_in_time(line);
    // Aborts may hang, and free nothing that is needed: nobody waits for them.
    std::thread([this] {
      gathers.abort();
      exchanges.abort();
    }).detach();
  }

  /// Counts a collective that was enqueued on `stream`.
  void count(CUstream_st* stream) {
    const std::int32_t number = enqueued.load() + 1;
    flags.write(stream, ended, number);
    enqueued.store(number);
  }

  Control& control;
  World world;
  Nccl nccl;
  Communicator gathers, exchanges;
  SharedMemory progress;
  EndFlag* ended;  ///< Number of collectives that have ended, which the stream writes.
  StreamFlags flags;
  std::atomic<std::int32_t> enqueued{0};
  std::atomic<bool> lost{false};  ///< Whether streams wait for what will not come.
  bool by_copy_engines = false;
  /// Declared last, because its thread uses all members above.
  std::unique_ptr<FabricWatch> watcher;
};

GpuFabric::GpuFabric(const RankLinks& links, const FabricMemory& memory, CUstream_st* stream,
                     const GpuFabricSettings& settings)
    : links_(links), memory_(memory), stream_(stream), settings_(settings) {
  check(links.control != nullptr && links.fabric != nullptr, "a rank has links to the others");
}

GpuFabric::~GpuFabric() {
  if (!connection_) return;
  connection_->watcher.reset();
  // Where streams wait for what will not come, aborts may still use it, and the process ends soon.
  if (connection_->lost.load()) {
    static_cast<void>(connection_.release());
  } else {
    cudaStreamSynchronize(stream_);
  }
}

bool GpuFabric::gathers_by_copy_engines() const {
  check(connection_ != nullptr, "ranks are connected");
  return connection_->by_copy_engines;
}

void GpuFabric::connect() {
  if (connection_) return;
  const auto shared = why_devices_are_shared(links_.control->gather(device_identity()));
  if (shared) throw EnvironmentError(*shared);
  connection_ = std::make_unique<Connection>(links_, memory_, stream_, settings_);
  connection_->watch(settings_.patience);
  // Connections between GPUs are made by the first collectives.
  const int ranks = world().size;
  const std::span<std::byte> spare = memory_.spare();
  const std::size_t half = spare.size() / 2;
  all_gather(runs_of(spare.first(half), ranks));
  exchange(runs_of(spare.first(half), ranks),
           spare.subspan(half, FabricMemory::kSpareOfRank * static_cast<std::size_t>(ranks - 1)));
}

/// Returns once all ranks are about to enqueue the same collective; throws on all of them if one
/// failed.
void GpuFabric::meet() {
  connect();
  links_.fabric->all_gather({nullptr, 0, 0});
}

void GpuFabric::enqueue_gather(const RankRuns& runs, const Members& members, const std::byte* own) {
  meet();
  Connection& here = *connection_;
  const NcclCalls& calls = here.nccl.calls();
  const int index = members.index_of(here.world.rank);
  const std::byte* const from = own != nullptr ? own : runs.of(index).data();
  if (members.count != here.world.size) {
    check(own == nullptr, "a gather among some ranks has its own run in its place");
    here.exchanges.run("a gather among some ranks", [&](ncclComm_t handle) {
      return among_members(calls, members, index, [&](int to, int from_member) {
        const ncclResult_t sent =
            calls.send(from, runs.bytes, ncclUint8, members.rank(to), handle, stream_);
        const ncclResult_t received =
            calls.receive(runs.of(from_member).data(), runs.bytes, ncclUint8,
                          members.rank(from_member), handle, stream_);
        return is_fault(sent) ? sent : received;
      });
    });
    here.count(stream_);
    return;
  }
  check(runs.stride == runs.bytes, "gathered runs lie one behind the other");
  here.gathers.run("a gather of weights", [&](ncclComm_t handle) {
    return calls.all_gather(from, runs.first, runs.bytes, ncclUint8, handle, stream_);
  });
  here.count(stream_);
}

// Sends and receives in one group: kernels with few blocks. NCCL's all-to-all would need room for
// this rank's own run, whose copy within the GPU is a kernel as well, and runs one behind the
// other, which pieces of slices are not.
void GpuFabric::enqueue_exchange(const RankRuns& own, std::span<std::byte> received,
                                 const Members& members) {
  meet();
  Connection& here = *connection_;
  const int index = members.index_of(here.world.rank);
  check(received.size() == own.bytes * static_cast<std::size_t>(members.count - 1),
        "an exchange receives one run a peer");
  const NcclCalls& calls = here.nccl.calls();
  here.exchanges.run("an exchange of gradients", [&](ncclComm_t handle) {
    return among_members(calls, members, index, [&](int to, int from) {
      const ncclResult_t sent =
          calls.send(own.of(to).data(), own.bytes, ncclUint8, members.rank(to), handle, stream_);
      std::byte* const place = received.data() + peer_index(index, from) * own.bytes;
      const ncclResult_t got =
          calls.receive(place, own.bytes, ncclUint8, members.rank(from), handle, stream_);
      return is_fault(sent) ? sent : got;
    });
  });
  here.count(stream_);
}

void GpuFabric::all_gather(const RankRuns& runs, const Members& members) {
  enqueue_gather(runs, members);
  wait();
}

void GpuFabric::exchange(const RankRuns& own, std::span<std::byte> received,
                         const Members& members) {
  enqueue_exchange(own, received, members);
  wait();
}

void GpuFabric::wait() {
  const std::int32_t number = connection_->enqueued.load();
  poll([&] {
    require_health();
    return connection_->ended->load(std::memory_order_acquire) >= number;
  });
}

void GpuFabric::require_health() const {
  if (const auto failure = links_.control->failure()) throw RankFailure(*failure);
  if (!connection_) return;
  if (const auto failure = connection_->watcher->failure()) throw RankFailure(*failure);
}

}  // namespace sluice::engine
