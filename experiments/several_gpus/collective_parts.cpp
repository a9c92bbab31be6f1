#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "check.hpp"
#include "kernels.hpp"
#include "loads.hpp"
#include "nccl_library.hpp"
#include "parts.hpp"
#include "rows.hpp"
#include "stopwatch.hpp"

namespace sluice::several_gpus {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr Operation kOperations[] = {Operation::all_gather, Operation::all_to_all,
                                     Operation::reduce_scatter};

/// Bytes that each GPU sends to the others.
double sent(const Rank& rank, std::size_t bytes) {
  return static_cast<double>(bytes) * (rank.of - 1) / rank.of;
}

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, device), "attribute");
  return value;
}

/// Seconds from the start of kernels that fill every multiprocessor for 30 ms to the end of a
/// collective enqueued behind them on another stream: what needs a multiprocessor ends after them.
double behind_full_multiprocessors(const Rank& rank, Fabric& fabric, Way way, Operation operation) {
  static thread_local cudaStream_t filler = nullptr;
  static thread_local cudaEvent_t start = nullptr, end = nullptr;
  const int multiprocessors = attribute(cudaDevAttrMultiProcessorCount, rank.id);
  if (filler == nullptr) {
    check(cudaStreamCreateWithFlags(&filler, cudaStreamNonBlocking), "stream");
    check(cudaEventCreate(&start), "event");
    check(cudaEventCreate(&end), "event");
    fill_multiprocessors(1e-4, multiprocessors, filler);
  }
  fabric.enqueue(way, operation, 16 * kMiB, 0, fabric.half());
  check(cudaDeviceSynchronize(), "warm up");
  rank.board.meet();
  check(cudaEventRecord(start, filler), "record");
  fill_multiprocessors(0.03, multiprocessors, filler);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  fabric.enqueue(way, operation, 16 * kMiB, 0, fabric.half());
  check(cudaEventRecord(end, fabric.stream()), "record");
  check(cudaDeviceSynchronize(), "collective behind full multiprocessors");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, start, end), "elapsed");
  return rank.board.most(rank.id, milliseconds / 1e3);
}

}  // namespace

void facts(const Rank& rank, const Options& options) {
  if (rank.id == 0) {
    int version = 0, driver = 0;
    NcclLibrary::get().check(NcclLibrary::get().get_version(&version), "ncclGetVersion");
    check(cudaDriverGetVersion(&driver), "driver");
    std::printf("NCCL %d, headers %d, driver's CUDA %d\n", version, NCCL_VERSION_CODE, driver);
    for (int device = 0; device < rank.of; ++device) {
      std::printf("GPU %d: %d multiprocessors, %d copy engines, NUMA node %d; peers:", device,
                  attribute(cudaDevAttrMultiProcessorCount, device),
                  attribute(cudaDevAttrAsyncEngineCount, device),
                  attribute(cudaDevAttrHostNumaId, device));
      for (int peer = 0; peer < rank.of; ++peer) {
        int access = 0, ranking = 0;
        if (peer != device) {
          check(cudaDeviceCanAccessPeer(&access, device, peer), "peer");
          check(cudaDeviceGetP2PAttribute(&ranking, cudaDevP2PAttrPerformanceRank, device, peer),
                "peer");
        }
        std::printf(" %d:%s%d", peer, access != 0 ? "yes/" : "no/", ranking);
      }
      std::printf("\n");
    }
    std::fflush(stdout);
  }
  Fabric fabric(rank, options.ways, 16 * kMiB);
  if (rank.id == 0) std::printf("NCCL: %s\n", fabric.windows().c_str());
  for (const Way way : options.ways) {
    const bool right = fabric.right(way, Operation::all_gather, 16 * kMiB);
    if (rank.id == 0) std::printf("%s: %s\n", name_of(way).c_str(), right ? "right" : "WRONG");
  }
}

void collectives(const Rank& rank, const Options& options) {
  Fabric fabric(rank, options.ways, options.most);
  Stopwatch watch(rank, fabric.stream());
  for (const Way way : options.ways) {
    for (const Operation operation : kOperations) {
      if (!Fabric::can(way, operation)) continue;
      Row row{.part = "collectives",
              .rank = &rank,
              .operation = name_of(operation),
              .way = name_of(way),
              .bytes = 16 * kMiB,
              .beside = "full multiprocessors"};
      const bool moves = operation != Operation::reduce_scatter;
      const bool right = !moves || fabric.right(way, operation, 16 * kMiB);
      row.seconds = behind_full_multiprocessors(rank, fabric, way, operation);
      row.note =
          std::string(*row.seconds < 0.028 ? "copy engines alone" : "needs multiprocessors") +
          (moves ? right ? "; bytes right" : "; bytes WRONG" : "") +
          (way == Way::ce || way == Way::window ? "; " + fabric.windows() : "");
      print(row);
      for (std::size_t bytes = kMiB / 16; bytes <= options.most; bytes *= 2) {
        if (bytes < options.most && __builtin_ctzll(bytes) % 2 != 0) continue;
        const Measured measured =
            watch.over(0.05, [&] { fabric.enqueue(way, operation, bytes, 0, fabric.half()); });
        print({.part = "collectives",
               .rank = &rank,
               .operation = name_of(operation),
               .way = name_of(way),
               .bytes = bytes,
               .beside = "nothing",
               .seconds = measured.seconds,
               .gpu_bytes = sent(rank, bytes)});
      }
    }
  }
}

void beside(const Rank& rank, const Options& options) {
  Fabric fabric(rank, options.ways, std::min(options.most, 256 * kMiB));
  Stopwatch watch(rank, fabric.stream());
  start_load_threads(rank, {.threads = options.cores * 3 / 4 / rank.of, .chunk = options.chunk});
  constexpr unsigned kUp = bit(Load::h2d), kDown = bit(Load::d2h), kBoth = kUp | kDown,
                     kUpdates = bit(Load::adamw), kProducts = bit(Load::gemm),
                     kAll = kBoth | kUpdates | kProducts;
  const std::vector<unsigned> loads =
      options.brief ? std::vector<unsigned>{0, kBoth, kProducts, kAll}
                    : std::vector<unsigned>{0,   kBoth, kProducts, kAll,
                                            kUp, kDown, kUpdates,  kBoth | kUpdates};
  // Some thirty copies, so that the last ones, which are not counted, do not weigh.
  const double window = std::max(0.12, static_cast<double>(options.chunk) / 1.3e9);
  for (const unsigned load : loads) {
    start_loads(rank, load);
    if (load != 0) {
      print({.part = "beside",
             .rank = &rank,
             .operation = "none",
             .way = "none",
             .beside = names_of(load),
             .rates = rates_alone(rank, 3 * window)});
    }
    const bool every_size =
        !options.brief && (load == 0 || load == kBoth || load == kProducts || load == kAll);
    for (const Way way : options.ways) {
      for (const Operation operation : {Operation::all_gather, Operation::all_to_all}) {
        for (const std::size_t bytes : {16 * kMiB, 64 * kMiB, 256 * kMiB}) {
          if (bytes > fabric.half() || (!every_size && bytes != 64 * kMiB)) continue;
          const Measured measured =
              watch.over(window, [&] { fabric.enqueue(way, operation, bytes, 0, fabric.half()); });
          print({.part = "beside",
                 .rank = &rank,
                 .operation = name_of(operation),
                 .way = name_of(way),
                 .bytes = bytes,
                 .beside = names_of(load),
                 .seconds = measured.seconds,
                 .gpu_bytes = sent(rank, bytes),
                 .rates = measured.rates,
                 .note = "copies of " + std::to_string(options.chunk / kMiB) + " MiB"});
        }
      }
    }
  }
}

}  // namespace sluice::several_gpus
