#include "ranks.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"

namespace sluice::several_gpus {
namespace {

[[noreturn]] void leave(int code) {
  std::fflush(stdout);
  std::fflush(stderr);
  _exit(code);
}

/// A rank that fails ends its process at once: the others would wait for it.
void run_rank(const Rank& rank, const std::function<void(const Rank&)>& part) {
  try {
    check(cudaSetDevice(rank.id), "cudaSetDevice");
    part(rank);
    rank.board.meet();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "several_gpus: rank %d: %s\n", rank.id, error.what());
    leave(1);
  }
}

}  // namespace

void run_ranks(const Launch& launch, const std::function<void(const Rank&)>& part) {
  Board& board = Board::make(launch.gpus);
  if (!launch.processes) {
    std::vector<std::thread> threads;
    for (int id = 0; id < launch.gpus; ++id) {
      threads.emplace_back([&, id] { run_rank({id, launch.gpus, false, board}, part); });
    }
    for (std::thread& thread : threads) thread.join();
    leave(0);
  }
  std::vector<pid_t> children;
  for (int id = 0; id < launch.gpus; ++id) {
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (launch.ranks_a_host > 0) {
        setenv("NCCL_HOSTID", std::to_string(id / launch.ranks_a_host).c_str(), 1);
      }
      run_rank({id, launch.gpus, true, board}, part);
      leave(0);
    }
    children.push_back(child);
  }
  for (std::size_t ended = 0; ended < children.size(); ++ended) {
    int status = 0;
    if (wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      for (const pid_t child : children) {
        if (child > 0) kill(child, SIGKILL);
      }
      leave(1);
    }
  }
  leave(0);
}

}  // namespace sluice::several_gpus
