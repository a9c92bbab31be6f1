#include "engine/ranks/thread_ranks.hpp"

#include <cstring>
#include <vector>

#include "engine/ranks/meeting.hpp"
#include "sim/error.hpp"

namespace sluice::engine {

struct ThreadRanks::Shared {
  Shared(int size, std::chrono::milliseconds patience)
      : size(size),
        texts(static_cast<std::size_t>(size)),
        runs(static_cast<std::size_t>(size)),
        talk(size, patience, failure),
        collective(size, patience, failure) {}

  void fail(const RankFailure& reason) {
    failure.record(reason);
    talk.wake();
    collective.wake();
  }
  /// Waits for all ranks once.
  void meet(Meeting& meeting, int rank) {
    try {
      meeting.come(rank);
    } catch (const RankFailure& reason) {
      fail(reason);
      throw;
    }
  }
  /// Calls `move` between two meetings of all ranks: what a rank wrote before it is there, and
  /// stays until all have moved it. Whoever fails meanwhile ends them all.
  template <class Move>
  void meet(Meeting& meeting, int rank, const Move& move) {
    try {
      meeting.come(rank);
      move();
      meeting.come(rank);
    } catch (const RankFailure& reason) {
      fail(reason);
      throw;
    }
  }

  int size;
  SharedFailure failure;
  std::vector<std::string> texts;  ///< What each rank says.
  std::vector<RankRuns> runs;      ///< What each rank offers to the others.
  Meeting talk, collective;
  std::vector<std::unique_ptr<Control>> controls;
  std::vector<std::unique_ptr<Fabric>> fabrics;
};

class ThreadRanks::RankControl : public Control {
 public:
  RankControl(Shared& shared, int rank) : shared_(shared), rank_(rank) {}
  [[nodiscard]] World world() const override { return {rank_, shared_.size}; }
  [[nodiscard]] std::vector<std::string> gather(const std::string& text) override {
    shared_.texts[static_cast<std::size_t>(rank_)] = text;
    std::vector<std::string> texts;
    shared_.meet(shared_.talk, rank_, [&] { texts = shared_.texts; });
    return texts;
  }
  void fail(const std::string& reason) noexcept override {
    shared_.fail(rank_failed(rank_, reason));
  }
  [[nodiscard]] std::optional<RankFailure> failure() const override {
    return shared_.failure.found();
  }

 private:
  Shared& shared_;
  int rank_;
};

class ThreadRanks::RankFabric : public Fabric {
 public:
  RankFabric(Shared& shared, int rank) : shared_(shared), rank_(rank) {}
  [[nodiscard]] World world() const override { return {rank_, shared_.size}; }

  using Fabric::all_gather;
  void all_gather(const RankRuns& runs, const Members& members) override {
    if (runs.bytes == 0) return shared_.meet(shared_.collective, rank_);
    from_peers(runs, members, [&](int peer, const RankRuns& theirs) {
      const int index = members.index_of(peer);
      copy(theirs.of(index), runs.of(index));
    });
  }

  using Fabric::exchange;
  void exchange(const RankRuns& own, std::span<std::byte> received,
                const Members& members) override {
    check(received.size() == own.bytes * static_cast<std::size_t>(members.count - 1),
          "an exchange receives one run a peer");
    const int index = members.index_of(rank_);
    from_peers(own, members, [&](int peer, const RankRuns& theirs) {
      const std::size_t place = peer_index(index, members.index_of(peer));
      copy(theirs.of(index), received.subspan(place * own.bytes, own.bytes));
    });
  }

 private:
  static void copy(std::span<const std::byte> from, std::span<std::byte> to) {
    std::memcpy(to.data(), from.data(), to.size());
  }
  /// Offers `own` to the other members and calls `take` with each and the runs that it offers,
  /// beginning behind this rank, so that not all read from the same peer at once.
  template <class Take>
  void from_peers(const RankRuns& own, const Members& members, const Take& take) {
    shared_.runs[static_cast<std::size_t>(rank_)] = own;
    shared_.meet(shared_.collective, rank_, [&] {
      for (int i = 1; i < members.count; ++i) {
        const int peer = members.rank((members.index_of(rank_) + i) % members.count);
        const RankRuns& theirs = shared_.runs[static_cast<std::size_t>(peer)];
        check(theirs.bytes == own.bytes, "ranks move runs of equal sizes");
        take(peer, theirs);
      }
    });
  }

  Shared& shared_;
  int rank_;
};

ThreadRanks::ThreadRanks(int size, std::chrono::milliseconds patience)
    : shared_(std::make_unique<Shared>(size, patience)) {
  for (int rank = 0; rank < size; ++rank) {
    shared_->controls.push_back(std::make_unique<RankControl>(*shared_, rank));
    shared_->fabrics.push_back(std::make_unique<RankFabric>(*shared_, rank));
  }
}

ThreadRanks::~ThreadRanks() = default;

void ThreadRanks::begin_again() {
  shared_->failure.forget();
  shared_->talk.begin_again();
  shared_->collective.begin_again();
}

int ThreadRanks::size() const { return shared_->size; }

Control& ThreadRanks::control(int rank) {
  return *shared_->controls[static_cast<std::size_t>(rank)];
}

Fabric& ThreadRanks::fabric(int rank) { return *shared_->fabrics[static_cast<std::size_t>(rank)]; }

}  // namespace sluice::engine
