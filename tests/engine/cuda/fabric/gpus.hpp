// Several GPUs of this computer, a thread for each.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "engine/cuda/fabric/gpu_fabric.hpp"
#include "engine/ranks/thread_ranks.hpp"
#include "engine/training/rank_threads.hpp"

namespace sluice::engine::cuda::testing {

/// Why a test of `ranks` ranks cannot run here; empty if it can.
inline std::string why_not_on_gpus(int ranks) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess) devices = 0;
  if (devices < ranks) return "needs " + std::to_string(ranks) + " GPUs";
  return why_no_gpu_fabric(ranks).value_or("");
}

/// Links of all ranks of a process.
inline std::vector<RankLinks> links_of(ThreadRanks& ranks) {
  std::vector<RankLinks> links;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    links.push_back({&ranks.control(rank), &ranks.fabric(rank)});
  }
  return links;
}

/// Calls `body` for each rank at the same time, with its GPU current, and rethrows what the first
/// to fail throws.
inline void on_gpus(ThreadRanks& ranks, const std::function<void(const RankLinks&)>& body) {
  const std::vector<RankLinks> links = links_of(ranks);
  run_on_ranks(links, [&](std::size_t rank) {
    if (cudaSetDevice(static_cast<int>(rank)) != cudaSuccess) {
      throw std::runtime_error("the GPU is missing");
    }
    body(links[rank]);
  });
}

/// The numbers of GPUs that tests of several run on.
inline constexpr int kGpus[] = {2, 4};

}  // namespace sluice::engine::cuda::testing
