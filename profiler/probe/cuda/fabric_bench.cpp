#include "profiler/probe/cuda/fabric_bench.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <thread>

#include "engine/cuda/fabric/gpu_fabric.hpp"
#include "engine/cuda/runtime/check.hpp"
#include "engine/ranks/thread_ranks.hpp"
#include "profiler/probe/cuda/resources.hpp"
#include "sim/error.hpp"

namespace sluice::profiler {
namespace {

using planner::Collective;

/// Bytes that a GPU receives, in MiB: from a norm's to a head's slice.
constexpr std::array kReceivedMiB = {0.25, 1.0, 4.0, 16.0, 64.0, 256.0};
/// Collectives that are enqueued between two events, so that the host's part is hidden.
constexpr int kTogether = 8;
constexpr int kFewest = 3, kMost = 50;

/// Bytes of one run where each of `gpus` GPUs receives the others' runs, in whole pages.
std::size_t run_bytes(double received, int gpus) {
  constexpr double kPage = 4096;
  return static_cast<std::size_t>(kPage * std::ceil(received / (gpus - 1) / kPage));
}

/// One rank's collectives, on its own thread.
class RankBench {
 public:
  RankBench(engine::ThreadRanks& ranks, int rank)
      : ranks_(ranks.size()),
        memory_((2 * static_cast<std::size_t>(ranks_) - 1) * largest_run(), ranks_),
        stream_(make_stream()),
        begin_(make_event(EventUse::timing)),
        end_(make_event(EventUse::timing)),
        fabric_({&ranks.control(rank), &ranks.fabric(rank)}, memory_, stream_.get()) {
    fabric_.connect();
  }

  /// Seconds of one collective, mean of kTogether.
  double time(Collective operation, std::size_t run) {
    const auto all = static_cast<std::size_t>(ranks_);
    const std::span<std::byte> own = memory_.bytes().first(run * all);
    const std::span<std::byte> received = memory_.bytes().subspan(run * all, run * (all - 1));
    record(begin_.get(), stream_.get());
    for (int i = 0; i < kTogether; ++i) {
      if (operation == Collective::gather) {
        fabric_.enqueue_gather(engine::runs_of(own, ranks_), engine::all_ranks(ranks_));
      } else {
        fabric_.enqueue_exchange(engine::runs_of(own, ranks_), received, engine::all_ranks(ranks_));
      }
    }
    record(end_.get(), stream_.get());
    return elapsed(begin_.get(), end_.get()).count() / kTogether;
  }

 private:
  [[nodiscard]] std::size_t largest_run() const {
    return run_bytes(kReceivedMiB.back() * (1 << 20), ranks_);
  }

  int ranks_;
  engine::FabricMemory memory_;
  Stream stream_;
  Event begin_, end_;
  engine::GpuFabric fabric_;
};

struct Measurement {
  Collective operation;
  std::size_t run;
  int repetitions;
};

/// Seconds of each repetition of each measurement on one rank.
using RankSeconds = std::vector<Samples>;

/// How often each collective is repeated, from a rate that no fabric reaches by much.
std::vector<Measurement> measurements(int gpus, Seconds budget) {
  constexpr double kUsualRate = 50e9, kUsualLatency = 20e-6;
  std::vector<Measurement> all;
  for (const double mib : kReceivedMiB) {
    const std::size_t run = run_bytes(mib * (1 << 20), gpus);
    const double seconds =
        kTogether * (kUsualLatency + static_cast<double>(run) * (gpus - 1) / kUsualRate);
    const int count = std::clamp(static_cast<int>(budget.count() / seconds), kFewest, kMost);
    for (const Collective operation : {Collective::gather, Collective::exchange}) {
      all.push_back({operation, run, count});
    }
  }
  return all;
}

RankSeconds run_rank(engine::ThreadRanks& ranks, int rank, const std::vector<Measurement>& all) {
  engine::check_cuda(cudaSetDevice(rank), "a GPU of the probe");
  RankBench bench(ranks, rank);
  RankSeconds seconds;
  for (const Measurement& each : all) {
    (void)bench.time(each.operation, each.run);
    Samples& samples = seconds.emplace_back();
    for (int i = 0; i < each.repetitions; ++i) {
      samples.push_back(bench.time(each.operation, each.run));
    }
  }
  return seconds;
}

}  // namespace

std::vector<CollectiveSamples> time_collectives(int gpus, Seconds budget) {
  if (const auto why = engine::why_no_gpu_fabric(gpus)) throw EnvironmentError(*why);
  const std::vector<Measurement> all = measurements(gpus, budget);
  engine::ThreadRanks ranks(gpus);
  std::vector<RankSeconds> seconds(static_cast<std::size_t>(gpus));
  std::vector<std::exception_ptr> errors(seconds.size());
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < gpus; ++rank) {
      threads.emplace_back([&, rank] {
        const auto i = static_cast<std::size_t>(rank);
        try {
          seconds[i] = run_rank(ranks, rank, all);
        } catch (const std::exception& error) {
          errors[i] = std::current_exception();
          ranks.control(rank).fail(error.what());
        }
      });
    }
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  std::vector<CollectiveSamples> samples;
  for (std::size_t m = 0; m < all.size(); ++m) {
    CollectiveSamples& each = samples.emplace_back();
    each.operation = all[m].operation;
    each.received = Bytes(static_cast<std::int64_t>(all[m].run) * (gpus - 1));
    each.seconds = seconds.front()[m];
    for (const RankSeconds& rank : seconds) {
      for (std::size_t i = 0; i < each.seconds.size(); ++i) {
        each.seconds[i] = std::max(each.seconds[i], rank[m][i]);
      }
    }
  }
  return samples;
}

}  // namespace sluice::profiler
