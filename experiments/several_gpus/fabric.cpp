#include "fabric.hpp"

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <stdexcept>

#include "check.hpp"
#include "nccl_library.hpp"

namespace sluice::several_gpus {
namespace {

constexpr const char* kWays[] = {"plain", "max2", "max4",  "max8",    "window",
                                 "ce",    "push", "batch", "streams", "events"};
/// Room for flags after both halves: a row of ready flags, a row of done flags.
constexpr std::size_t kTail = std::size_t{2} << 20;

}  // namespace

std::string name_of(Way way) { return kWays[static_cast<int>(way)]; }

std::string name_of(Operation operation) {
  constexpr const char* kNames[] = {"all_gather", "all_to_all", "reduce_scatter"};
  return kNames[static_cast<int>(operation)];
}

std::vector<Way> ways_of(const std::string& list) {
  std::vector<Way> ways;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    const auto* found = std::find(std::begin(kWays), std::end(kWays), word);
    if (found == std::end(kWays)) throw std::runtime_error("--ways: \"" + word + "\" names none");
    ways.push_back(static_cast<Way>(found - std::begin(kWays)));
  }
  return ways;
}

struct Fabric::Copies {
  std::array<void*, kMostRanks> to{};
  std::array<const void*, kMostRanks> from{};
  std::array<std::size_t, kMostRanks> bytes{};
  int count = 0;
  void add(char* destination, const char* source, std::size_t size) {
    to[count] = destination;
    from[count] = source;
    bytes[count++] = size;
  }
};

Fabric::Fabric(const Rank& rank, const std::vector<Way>& ways, std::size_t half)
    : rank_(rank), half_(half) {
  void* memory = nullptr;
  const NcclLibrary& nccl = NcclLibrary::get();
  nccl.check(nccl.allocate(&memory, 2 * half + kTail), "ncclMemAlloc");
  arena_ = static_cast<char*>(memory);
  check(cudaMemset(arena_, 0, 2 * half + kTail), "memset");
  int least = 0, greatest = 0;  // Blocks of collectives go before those of products.
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "priorities");
  check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, greatest), "stream");
  check(cudaDeviceSynchronize(), "memset");
  for (const Way way : ways) {
    if (!own(way)) make_communicator(way);
  }
  if (std::any_of(ways.begin(), ways.end(), own)) map_peers();
  if (std::find(ways.begin(), ways.end(), Way::events) != ways.end()) share_events();
  rank_.board.meet();
}

bool Fabric::can(Way way, Operation operation) {
  return operation != Operation::reduce_scatter || (!own(way) && way != Way::ce);
}

void Fabric::make_communicator(Way way) {
  const NcclLibrary& nccl = NcclLibrary::get();
  ncclUniqueId id;
  if (rank_.id == 0) {
    nccl.check(nccl.unique_id(&id), "ncclGetUniqueId");
    std::copy(std::begin(id.internal), std::end(id.internal), rank_.board.id.begin());
  }
  rank_.board.meet();
  std::copy(rank_.board.id.begin(), rank_.board.id.end(), id.internal);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  if (way == Way::max2) config.maxCTAs = 2;
  if (way == Way::max4) config.maxCTAs = 4;
  if (way == Way::max8) config.maxCTAs = 8;
  if (way == Way::ce) config.CTAPolicy = NCCL_CTA_POLICY_ZERO;
  ncclComm_t& communicator = communicators_[static_cast<std::size_t>(way)];
  nccl.check(nccl.init_rank(&communicator, rank_.of, id, rank_.id, &config), "ncclCommInitRank");
  if (way == Way::window || way == Way::ce) {
    ncclWindow_t window = nullptr;
    nccl.check(nccl.register_window(communicator, arena_, 2 * half_ + kTail, &window,
                                    NCCL_WIN_COLL_SYMMETRIC),
               "ncclCommWindowRegister");
    windows_ = window != nullptr ? "windows registered" : "windows refused";
  }
  rank_.board.meet();
}

void Fabric::map_peers() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  check(cudaGetDriverEntryPointByVersion("cuStreamBatchMemOp", &function, 12000, cudaEnableDefault,
                                         &found),
        "cuStreamBatchMemOp");
  if (function == nullptr) throw std::runtime_error("the driver has no cuStreamBatchMemOp");
  batch_memory_operations_ = reinterpret_cast<decltype(batch_memory_operations_)>(function);
  void* memory = arena_;
  Board& board = rank_.board;
  if (rank_.process) {
    check(cudaMalloc(&memory, 2 * half_ + kTail), "cudaMalloc");
    check(cudaMemset(memory, 0, 2 * half_ + kTail), "memset");
    check(cudaDeviceSynchronize(), "memset");
    check(cudaIpcGetMemHandle(&board.handle[rank_.id], memory), "cudaIpcGetMemHandle");
  }
  board.address[rank_.id] = memory;
  board.meet();
  for (int id = 0; id < rank_.of; ++id) {
    void* mapped = board.address[id];
    if (id != rank_.id && rank_.process) {
      check(cudaIpcOpenMemHandle(&mapped, board.handle[id], cudaIpcMemLazyEnablePeerAccess),
            "cudaIpcOpenMemHandle");
    } else if (id != rank_.id) {
      const cudaError_t status = cudaDeviceEnablePeerAccess(id, 0);
      if (status == cudaErrorPeerAccessAlreadyEnabled) {
        cudaGetLastError();  // NCCL was here before; the error must not meet the next check.
      } else {
        check(status, "cudaDeviceEnablePeerAccess");
      }
    }
    peers_[id] = static_cast<char*>(mapped);
    check(cudaStreamCreateWithFlags(&sides_[id], cudaStreamNonBlocking), "stream");
    check(cudaEventCreateWithFlags(&joins_[id], cudaEventDisableTiming), "event");
  }
  board.meet();
}

void Fabric::share_events() {
  if (rank_.process) throw std::runtime_error("events: threads only");
  for (auto& row : events_) {
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "event");
    rank_.board.address[rank_.id] = event;
    rank_.board.meet();
    for (int id = 0; id < rank_.of; ++id)
      row[id] = static_cast<cudaEvent_t>(rank_.board.address[id]);
    rank_.board.meet();
  }
}

void Fabric::enqueue(Way way, Operation operation, std::size_t bytes, std::size_t from,
                     std::size_t to) {
  if (own(way)) return push(way, pushes(operation, bytes, from, to));
  const NcclLibrary& nccl = NcclLibrary::get();
  const ncclComm_t communicator = communicators_[static_cast<std::size_t>(way)];
  const std::size_t slice = bytes / rank_.of;
  switch (operation) {
    case Operation::all_gather:
      return nccl.check(nccl.all_gather(arena_ + to + rank_.id * slice, arena_ + to, slice / 4,
                                        ncclFloat, communicator, stream_),
                        "ncclAllGather");
    case Operation::all_to_all:
      return nccl.check(
          nccl.all_to_all(arena_ + from, arena_ + to, slice / 4, ncclFloat, communicator, stream_),
          "ncclAlltoAll");
    case Operation::reduce_scatter:
      return nccl.check(nccl.reduce_scatter(arena_ + from, arena_ + to + rank_.id * slice,
                                            slice / 4, ncclFloat, ncclSum, communicator, stream_),
                        "ncclReduceScatter");
  }
}

Fabric::Copies Fabric::pushes(Operation operation, std::size_t bytes, std::size_t from,
                              std::size_t to) const {
  Copies copies;
  const std::size_t slice = bytes / rank_.of;
  char* mine = peers_[rank_.id];
  for (int next = 1; next <= rank_.of; ++next) {  // The own slice last; peers in a rotated order.
    const int id = (rank_.id + next) % rank_.of;
    char* destination = peers_[id] + to + rank_.id * slice;
    if (operation == Operation::all_to_all) {
      copies.add(destination, mine + from + id * slice, slice);
    } else if (id != rank_.id) {
      copies.add(destination, mine + to + rank_.id * slice, slice);
    }
  }
  return copies;
}

/// Tells every peer by a flag in its memory that this stream has come here, and waits for theirs.
void Fabric::meet_on_streams(int row) {
  std::array<CUstreamBatchMemOpParams, kMostRanks> writes{}, waits{};
  const auto flag = [&](int memory, int source) {
    return peers_[memory] + 2 * half_ + 4 * (row * kMostRanks + source);
  };
  unsigned count = 0;
  for (int id = 0; id < rank_.of; ++id) {
    if (id == rank_.id) continue;
    auto& write = writes[count].writeValue;
    write.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    write.address = reinterpret_cast<CUdeviceptr>(flag(id, rank_.id));
    write.value = sequence_;
    auto& wait = waits[count++].waitValue;
    wait.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    wait.address = reinterpret_cast<CUdeviceptr>(flag(rank_.id, id));
    wait.value = sequence_;
    wait.flags = CU_STREAM_WAIT_VALUE_GEQ;
  }
  if (!copy_flags_ && batch_memory_operations_(stream_, count, writes.data(), 0) != CUDA_SUCCESS) {
    copy_flags_ = true;
    std::fprintf(stderr, "several_gpus: streams cannot write peers' flags; 4-byte copies do\n");
  }
  for (int id = 0; copy_flags_ && id < rank_.of; ++id) {
    if (id == rank_.id) continue;
    check(cudaMemcpyAsync(flag(id, rank_.id), &sequence_, 4, cudaMemcpyHostToDevice, stream_),
          "copy a flag");
  }
  check(batch_memory_operations_(stream_, count, waits.data(), 0), "wait for flags");
}

void Fabric::meet_by_events(int row) {
  check(cudaEventRecord(events_[row][rank_.id], stream_), "record");
  rank_.board.meet();
  for (int id = 0; id < rank_.of; ++id)
    check(cudaStreamWaitEvent(stream_, events_[row][id]), "wait");
  rank_.board.meet();  // Nobody records again before all have enqueued their waits.
}

void Fabric::push(Way way, const Copies& copies) {
  ++sequence_;
  way == Way::events ? meet_by_events(0) : meet_on_streams(0);
  if (way == Way::batch) {
    cudaMemcpyAttributes attributes{};
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    attributes.flags = cudaMemcpyFlagPreferOverlapWithCompute;
    std::size_t first = 0;
    check(cudaMemcpyBatchAsync(copies.to.data(), copies.from.data(), copies.bytes.data(),
                               copies.count, &attributes, &first, 1, stream_),
          "cudaMemcpyBatchAsync");
  } else {
    if (way == Way::streams) check(cudaEventRecord(joins_[rank_.id], stream_), "record");
    for (int i = 0; i < copies.count; ++i) {
      const cudaStream_t stream = way == Way::streams ? sides_[i] : stream_;
      if (way == Way::streams) check(cudaStreamWaitEvent(stream, joins_[rank_.id]), "wait");
      check(
          cudaMemcpyAsync(copies.to[i], copies.from[i], copies.bytes[i], cudaMemcpyDefault, stream),
          "push");
    }
    for (int i = 0; way == Way::streams && i < copies.count; ++i) {
      // The event that starts all copies may serve again: every stream waits for its record by now.
      check(cudaEventRecord(joins_[i], sides_[i]), "record");
      check(cudaStreamWaitEvent(stream_, joins_[i]), "wait");
    }
  }
  way == Way::events ? meet_by_events(1) : meet_on_streams(1);
}

bool Fabric::right(Way way, Operation operation, std::size_t bytes) {
  char* mine = memory(way);
  const std::size_t slice = bytes / rank_.of;
  check(cudaMemset(mine + half_, 0, bytes), "memset");
  for (int id = 0; id < rank_.of; ++id) {
    check(cudaMemset(mine + id * slice, 16 * rank_.id + id + 1, slice), "memset");
  }
  check(cudaMemset(mine + half_ + rank_.id * slice, rank_.id + 1, slice), "memset");
  check(cudaDeviceSynchronize(), "memset");
  rank_.board.meet();
  enqueue(way, operation, bytes, 0, half_);
  check(cudaStreamSynchronize(stream_), "collective");
  std::vector<char> got(bytes);
  check(cudaMemcpy(got.data(), mine + half_, bytes, cudaMemcpyDeviceToHost), "read back");
  bool same = true;
  for (std::size_t i = 0; i < bytes; ++i) {
    const int id = static_cast<int>(i / slice);
    same &= got[i] == (operation == Operation::all_gather ? id + 1 : 16 * id + rank_.id + 1);
  }
  return rank_.board.sum(rank_.id, same ? 0 : 1) == 0;
}

}  // namespace sluice::several_gpus
