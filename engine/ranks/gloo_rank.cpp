#include "engine/ranks/gloo_rank.hpp"

#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>
#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>

#include "engine/ranks/equal_hosts.hpp"
#include "engine/ranks/posted_failure.hpp"
#include "engine/ranks/process_mark.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenLooks{5};
/// Time within which a rank that ends because of another one says on the board that it is alive.
constexpr std::chrono::seconds kSayWithin{1};

/// Lets writes of this thread, and of threads that it starts, to a peer that is gone fail with an
/// error: Gloo does not keep the system from ending the process by SIGPIPE. The signal stays
/// blocked, because one that is pending would be delivered as soon as it is not.
void block_pipe_signal() {
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
}

/// The board as Gloo's meeting point: the address of rank r under the key "r".
class BoardStore : public gloo::rendezvous::Store {
 public:
  BoardStore(Board& board, std::chrono::milliseconds patience)
      : board_(board), patience_(patience) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    if (board_.post(name_of(key), std::string(data.begin(), data.end()))) return;
    throw BadRequest("rendezvous: " + board_.place() + " has rank " + key +
                     " already: give each rank a number of its own, and each start a new folder");
  }
  std::vector<char> get(const std::string& key) override {
    wait({key});
    const std::string text = board_.find(name_of(key)).value();
    return {text.begin(), text.end()};
  }
  void wait(const std::vector<std::string>& keys) override { wait(keys, patience_); }
  void wait(const std::vector<std::string>& keys,
            const std::chrono::milliseconds& /*timeout*/) override {
    const auto end = Clock::now() + patience_;
    for (const std::string& key : keys) {
      while (!board_.find(name_of(key))) {
        if (const auto failure = posted_failure(board_)) throw RankFailure(*failure);
        if (Clock::now() > end) {
          throw post_failure(board_, rank_silent(std::atoi(key.c_str()), patience_,
                                                 host_of(board_, std::atoi(key.c_str()))));
        }
        std::this_thread::sleep_for(kBetweenLooks);
      }
    }
  }

 private:
  static std::string name_of(const std::string& key) { return "rank-" + key; }
  Board& board_;
  std::chrono::milliseconds patience_;
};

}  // namespace

bool has_gloo() { return true; }

/// The connections, and exchanges of ranges with all peers at once.
class GlooRank::Mesh {
 public:
  Mesh(World world, Board& board, const GlooSettings& settings)
      : world_(world),
        board_(board),
        patience_(settings.patience),
        context_(world.rank, world.size) {
    block_pipe_signal();
    try {
      gloo::transport::tcp::attr address;
      address.hostname = settings.address;
      std::shared_ptr<gloo::transport::Device> device = gloo::transport::tcp::CreateDevice(address);
      BoardStore store(board, patience_);
      board.post(mark_of(world.rank), own_process_mark());
      context_.setTimeout(patience_);
      context_.connectFullMesh(store, device);
    } catch (const gloo::Exception& error) {
      if (const auto failure = posted_failure(board_)) throw RankFailure(*failure);
      throw EnvironmentError(std::string("ranks cannot connect by ") + settings.address + ": " +
                             error.what());
    }
    watch_ = std::thread([this] { watch(); });
  }
  ~Mesh() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    woken_.notify_all();
    if (watch_.joinable()) watch_.join();
  }
  Mesh(const Mesh&) = delete;  // Its thread points back at it.
  Mesh& operator=(const Mesh&) = delete;

  [[nodiscard]] World world() const { return world_; }

  /// What one peer is sent and what it sends; both may be empty.
  struct Parcel {
    std::span<const std::byte> out;
    std::span<std::byte> in;
  };
  /// Exchanges parcels with all peers, as `parcel` returns them by rank, and returns when all have
  /// arrived. Calls with the same `slot` must not overlap, and all ranks must make the same ones.
  void exchange(std::uint64_t slot, const std::function<Parcel(int peer)>& parcel) {
    block_pipe_signal();
    std::vector<Transfer> transfers;
    for (int i = 1; i < world_.size; ++i) {
      const int peer = (world_.rank + i) % world_.size;
      transfers.push_back({.peer = peer, .in = nullptr, .out = nullptr});
      guard(peer, transfers, [&] { return start(slot, parcel(peer), transfers.back()); });
    }
    const Watched watched(*this, transfers);
    // Receives first: a peer that is late to receive must not be taken for one that is lost.
    for (Transfer& each : transfers) {
      if (!each.in) continue;
      guard(each.peer, transfers, [&] { return each.in->waitRecv(patience_); });
      const std::lock_guard lock(mutex_);
      each.in.reset();
    }
    for (Transfer& each : transfers) {
      if (!each.out) continue;
      guard(each.peer, transfers, [&] { return each.out->waitSend(patience_); });
      const std::lock_guard lock(mutex_);
      each.out.reset();
    }
  }

  [[nodiscard]] std::optional<RankFailure> failure() const { return posted_failure(board_); }
  void fail(const std::string& reason) noexcept {
    block_pipe_signal();
    try {
      post_failure(board_, rank_failed(world_.rank, reason, host_of(board_, world_.rank)));
      context_.closeConnections();
    } catch (...) {
      // The others see that this rank's connections close when its process ends.
    }
  }

 private:
  using Buffer = gloo::transport::UnboundBuffer;
  struct Transfer {
    int peer;
    std::unique_ptr<Buffer> in, out;
  };

  /// Scope in which the watch looks at `transfers`.
  class Watched {
   public:
    Watched(Mesh& mesh, std::vector<Transfer>& transfers) : mesh_(mesh), transfers_(transfers) {
      const std::lock_guard lock(mesh_.mutex_);
      mesh_.active_.push_back(&transfers_);
    }
    ~Watched() {
      const std::lock_guard lock(mesh_.mutex_);
      std::erase(mesh_.active_, &transfers_);
    }
    Watched(const Watched&) = delete;  // Each registration has one end.
    Watched& operator=(const Watched&) = delete;

   private:
    Mesh& mesh_;
    std::vector<Transfer>& transfers_;
  };

  static std::string mark_of(int rank) { return "process-" + std::to_string(rank); }

  /// Posts the end of a peer that this rank waits for once it has been gone for long enough that
  /// what it sent has arrived; `gone` counts for how many looks, by rank.
  void post_ends(std::vector<int>& gone) const {
    constexpr int kGoneFor = 10;
    for (const std::vector<Transfer>* transfers : active_) {
      for (const Transfer& each : *transfers) {
        int& times = gone[static_cast<std::size_t>(each.peer)];
        times = (each.in || each.out) && is_gone(board_.find(mark_of(each.peer)).value_or(""))
                    ? times + 1
                    : 0;
        if (times >= kGoneFor) post_failure(board_, ended(each.peer));
      }
    }
  }

  /// Whether a rank has failed, after the ends that this one sees have been posted.
  bool has_failed(std::vector<int>& gone) const {
    try {
      post_ends(gone);
    } catch (const RankFailure&) {
      return true;  // The first rank is gone, and its board with it.
    } catch (const EnvironmentError&) {
      return false;  // The board cannot be written; patience ends the waits.
    }
    return posted_failure(board_).has_value();
  }

  /// Ends what this rank waits for once any rank has failed or is gone: Gloo does not report every
  /// connection that closes.
  void watch() {
    constexpr std::chrono::milliseconds kEvery{100};
    std::vector<int> gone(static_cast<std::size_t>(world_.size));
    std::unique_lock lock(mutex_);
    while (!woken_.wait_for(lock, kEvery, [this] { return ends_; })) {
      if (active_.empty()) continue;
      if (!has_failed(gone)) continue;
      for (const std::vector<Transfer>* transfers : active_) {
        for (const Transfer& each : *transfers) {
          if (each.in) each.in->abortWaitRecv();
          if (each.out) each.out->abortWaitSend();
        }
      }
    }
  }

  bool start(std::uint64_t slot, const Parcel& parcel, Transfer& transfer) {
    if (!parcel.in.empty()) {
      transfer.in = context_.createUnboundBuffer(parcel.in.data(), parcel.in.size());
      transfer.in->recv(transfer.peer, slot);
    }
    if (!parcel.out.empty()) {
      // Gloo has one type of buffer for reading and writing.
      auto* data = const_cast<std::byte*>(parcel.out.data());
      transfer.out = context_.createUnboundBuffer(data, parcel.out.size());
      transfer.out->send(transfer.peer, slot);
    }
    return true;
  }

  /// Calls `call`, which has to do with `peer`, and turns what Gloo throws into the failure of the
  /// rank that is to blame.
  template <class Call>
  void guard(int peer, const std::vector<Transfer>& transfers, const Call& call) {
    const auto begin = Clock::now();
    try {
      if (call()) return;
    } catch (const gloo::Exception&) {
    }
    // Gloo's clock may be a little ahead.
    if (Clock::now() - begin < patience_ * 9 / 10) throw post_failure(board_, lost(peer));
    std::vector<int> missing;
    for (const Transfer& each : transfers) {
      if (each.in || each.out) missing.push_back(each.peer);
    }
    throw post_failure(board_, silent(peer, missing));
  }

  /// Says on the board that this rank is alive, though it ends.
  void report() { board_.post(report_of(world_.rank), "alive"); }
  [[nodiscard]] bool reported(int rank) const { return board_.find(report_of(rank)).has_value(); }
  static std::string report_of(int rank) { return "report-" + std::to_string(rank); }

  /// Waits until `known` returns true or the board has a failure, which is returned; at most for
  /// `longest`, the time in which a living rank says so.
  template <class Known>
  std::optional<RankFailure> look(const Known& known,
                                  std::chrono::milliseconds longest = kSayWithin) const {
    const auto end = Clock::now() + std::min(patience_, longest);
    for (;;) {
      if (auto failure = posted_failure(board_)) return failure;
      if (known() || Clock::now() > end) return std::nullopt;
      std::this_thread::sleep_for(kBetweenLooks);
    }
  }

  [[nodiscard]] RankFailure ended(int rank) const {
    return rank_ended(rank, host_of(board_, rank));
  }

  /// The failure for which the connection to `peer` closed: its death, or, if it says that it is
  /// alive, the one for which it ends.
  RankFailure lost(int peer) {
    report();
    if (auto failure = look([&] { return reported(peer); })) return *failure;
    if (!reported(peer)) return ended(peer);
    return look([] { return false; }).value_or(ended(peer));
  }

  /// The failure of the rank for which this one waited in vain, with `peer` first among those in
  /// `missing`: others of them may wait for the same rank, and say so once they wait no longer.
  RankFailure silent(int peer, const std::vector<int>& missing) {
    report();
    context_.closeConnections();
    const auto alive = [this](int rank) { return reported(rank); };
    if (auto failure = look([&] { return std::ranges::all_of(missing, alive); })) return *failure;
    const auto hangs = std::ranges::find_if_not(missing, alive);
    if (hangs == missing.end()) {
      // They wait for another rank, and name it once they have looked for its report.
      if (auto failure = look([] { return false; }, 2 * kSayWithin)) return *failure;
    }
    const int silent = hangs == missing.end() ? peer : *hangs;
    return rank_silent(silent, patience_, host_of(board_, silent));
  }

  World world_;
  Board& board_;
  std::chrono::milliseconds patience_;
  gloo::rendezvous::Context context_;
  std::mutex mutex_;  ///< Guards active_, the buffers in it, and ends_.
  std::condition_variable woken_;
  std::vector<std::vector<Transfer>*> active_;  ///< What this rank waits for.
  bool ends_ = false;
  std::thread watch_;
};

class GlooRank::MeshControl : public Control {
 public:
  explicit MeshControl(Mesh& mesh) : mesh_(mesh) {}
  [[nodiscard]] World world() const override { return mesh_.world(); }
  void fail(const std::string& reason) noexcept override { mesh_.fail(reason); }
  [[nodiscard]] std::optional<RankFailure> failure() const override { return mesh_.failure(); }

  [[nodiscard]] std::vector<std::string> gather(const std::string& text) override {
    constexpr std::uint64_t kLengths = 1, kTexts = 2;
    const auto [rank, size] = world();
    const std::uint64_t length = text.size();
    std::vector<std::uint64_t> lengths(static_cast<std::size_t>(size));
    mesh_.exchange(kLengths, [&](int peer) {
      return Mesh::Parcel{
          std::as_bytes(std::span(&length, 1)),
          std::as_writable_bytes(std::span(&lengths[static_cast<std::size_t>(peer)], 1))};
    });
    lengths[static_cast<std::size_t>(rank)] = length;
    std::vector<std::string> texts;
    texts.reserve(lengths.size());
    for (const std::uint64_t each : lengths) texts.emplace_back(each, '\0');
    mesh_.exchange(kTexts, [&](int peer) {
      return Mesh::Parcel{std::as_bytes(std::span(text)),
                          std::as_writable_bytes(std::span(texts[static_cast<std::size_t>(peer)]))};
    });
    texts[static_cast<std::size_t>(rank)] = text;
    return texts;
  }

 private:
  Mesh& mesh_;
};

class GlooRank::MeshFabric : public Fabric {
 public:
  MeshFabric(Mesh& mesh, const std::vector<std::string>& hosts)
      : mesh_(mesh), hosts_(equal_hosts(hosts)) {}
  [[nodiscard]] World world() const override { return mesh_.world(); }

  using Fabric::all_gather;
  void all_gather(const RankRuns& runs, const Members& members) override {
    if (hosts_ && members.count == world().size) return gather_by_hosts(runs);
    mesh_.exchange(kSlot, [&, own = runs.of(members.index_of(world().rank))](int peer) {
      return members.has(peer) ? Mesh::Parcel{own, runs.of(members.index_of(peer))}
                               : Mesh::Parcel{};
    });
  }

  using Fabric::exchange;
  void exchange(const RankRuns& own, std::span<std::byte> received,
                const Members& members) override {
    check(received.size() == own.bytes * static_cast<std::size_t>(members.count - 1),
          "an exchange receives one run a peer");
    const int index = members.index_of(world().rank);
    mesh_.exchange(kSlot, [&](int peer) {
      if (!members.has(peer)) return Mesh::Parcel{};
      const std::size_t place = peer_index(index, members.index_of(peer));
      return Mesh::Parcel{own.of(members.index_of(peer)),
                          received.subspan(place * own.bytes, own.bytes)};
    });
  }

 private:
  static constexpr std::uint64_t kSlot = 3;

  /// Gathers so that every run enters each host once: ranks with one place on their hosts exchange
  /// their runs, and ranks of one host then pass on what they have, a host's runs at a time.
  void gather_by_hosts(const RankRuns& runs) {
    const auto [rank, size] = world();
    const int host = hosts_->host_of(rank), place = hosts_->place_of(rank);
    mesh_.exchange(kSlot, [&, own = runs.of(rank)](int peer) {
      return hosts_->place_of(peer) == place ? Mesh::Parcel{own, runs.of(peer)} : Mesh::Parcel{};
    });
    for (int from = 0; from < size / hosts_->local; ++from) {
      mesh_.exchange(kSlot, [&, host = host, place = place](int peer) {
        if (hosts_->host_of(peer) != host) return Mesh::Parcel{};
        const int first = from * hosts_->local;
        return Mesh::Parcel{runs.of(first + place), runs.of(first + hosts_->place_of(peer))};
      });
    }
  }

  Mesh& mesh_;
  std::optional<EqualHosts> hosts_;  ///< None where ranks move bytes as those of one host do.
};

GlooRank::GlooRank(World world, Board& board, const GlooSettings& settings)
    : mesh_(std::make_unique<Mesh>(world, board, settings)),
      control_(std::make_unique<MeshControl>(*mesh_)),
      fabric_(std::make_unique<MeshFabric>(*mesh_, settings.hosts)) {}

GlooRank::~GlooRank() = default;

Control& GlooRank::control() { return *control_; }
Fabric& GlooRank::fabric() { return *fabric_; }

}  // namespace sluice::engine
