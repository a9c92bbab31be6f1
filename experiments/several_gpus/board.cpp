#include "board.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <numeric>
#include <stdexcept>
#include <thread>

namespace sluice::several_gpus {

Board& Board::make(int ranks) {
  void* at =
      mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::runtime_error("no shared memory for the board");
  auto* board = new (at) Board;
  board->ranks = ranks;
  return *board;
}

void Board::meet() {
  const int generation = generation_.load();
  if (arrived_.fetch_add(1) + 1 == ranks) {
    arrived_.store(0);
    generation_.fetch_add(1);
    return;
  }
  const auto until = Clock::now() + std::chrono::seconds(40);
  for (std::uint64_t turn = 0; generation_.load() == generation; ++turn) {
    if (turn < 4096) continue;
    std::this_thread::yield();
    if (Clock::now() > until) {
      std::fprintf(stderr, "several_gpus: a rank waited 40 s for the others; this part ends\n");
      _exit(3);
    }
  }
}

double Board::most(int rank, double value) {
  values_[rank] = value;
  meet();
  const double found = *std::max_element(values_.begin(), values_.begin() + ranks);
  meet();
  return found;
}

std::uint64_t Board::sum(int rank, std::uint64_t value) {
  words_[rank] = value;
  meet();
  const std::uint64_t found =
      std::accumulate(words_.begin(), words_.begin() + ranks, std::uint64_t{0});
  meet();
  return found;
}

std::array<std::uint64_t, kLoads> Board::counted() const {
  std::array<std::uint64_t, kLoads> total{};
  for (int load = 0; load < kLoads; ++load) {
    for (const Counter& counter : counts_[load]) total[load] += counter.amount.load();
  }
  return total;
}

}  // namespace sluice::several_gpus
