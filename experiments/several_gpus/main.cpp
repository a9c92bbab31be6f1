// One part of the experiment on several GPUs; experiments/several_gpus/README.md says what each
// asks.
//
//   several_gpus PART [--gpus N] [--ways LIST] [--processes] [--ranks-a-host N] [--cores N]
//   [--chunk MIB] [--most MIB]
//                [--node N] [--brief]
//
// PART: facts, collectives, beside, host, sum, equality.
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>

#include "parts.hpp"
#include "ranks.hpp"

namespace sluice::several_gpus {
namespace {

/// Binds this process's threads and memory to a NUMA node; returns the node's number of cores.
int bind_to(int node) {
  std::ifstream file("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist");
  cpu_set_t cores;
  CPU_ZERO(&cores);
  char separator = 0;
  for (int first = 0; file >> first;) {
    int last = first;
    if (file.peek() == '-') file >> separator >> last;
    for (int core = first; core <= last; ++core) CPU_SET(core, &cores);
    if (file.peek() == ',') file >> separator;
  }
  const unsigned long nodes = 1ul << node;
  constexpr int kBind = 2;  // MPOL_BIND of <numaif.h>, which is not everywhere.
  if (CPU_COUNT(&cores) == 0 || sched_setaffinity(0, sizeof cores, &cores) != 0 ||
      syscall(SYS_set_mempolicy, kBind, &nodes, sizeof nodes * 8) != 0) {
    throw std::runtime_error("--node: cannot bind to node " + std::to_string(node));
  }
  return CPU_COUNT(&cores);
}

int run(int count, char** words) {
  const std::map<std::string, std::function<void(const Rank&, const Options&)>> parts{
      {"facts", facts}, {"collectives", collectives}, {"beside", beside}, {"host", host},
      {"sum", sum},     {"equality", equality}};
  const auto part = parts.find(count > 1 ? words[1] : "");
  if (part == parts.end()) {
    throw std::runtime_error("the first word must be a part: see README.md");
  }
  Options options;
  Launch launch;
  options.cores = static_cast<int>(std::thread::hardware_concurrency());
  for (int i = 2; i < count; ++i) {
    const std::string word = words[i];
    const auto value = [&] {
      if (i + 1 == count) throw std::runtime_error(word + ": a value must follow");
      return std::string(words[++i]);
    };
    if (word == "--gpus")
      launch.gpus = std::stoi(value());
    else if (word == "--ways")
      options.ways = ways_of(value());
    else if (word == "--processes")
      launch.processes = true;
    else if (word == "--ranks-a-host")
      launch.ranks_a_host = std::stoi(value());
    else if (word == "--cores")
      options.cores = std::stoi(value());
    else if (word == "--chunk")
      options.chunk = std::stoull(value()) << 20;
    else if (word == "--most")
      options.most = std::stoull(value()) << 20;
    else if (word == "--node")
      options.cores = bind_to(std::stoi(value()));
    else if (word == "--brief")
      options.brief = true;
    else
      throw std::runtime_error(word + ": no such option");
  }
  if (launch.gpus < 2 || launch.gpus > kMostRanks || (launch.gpus & (launch.gpus - 1)) != 0) {
    throw std::runtime_error("--gpus: must be 2, 4 or 8");
  }
  setenv("NCCL_NVLS_ENABLE", "0", 1);  // Multicast is off where these numbers are made.
  run_ranks(launch, [&](const Rank& rank) { part->second(rank, options); });
}

}  // namespace
}  // namespace sluice::several_gpus

int main(int count, char** words) {
  try {
    return sluice::several_gpus::run(count, words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "several_gpus: %s\n", error.what());
    return 2;
  }
}
