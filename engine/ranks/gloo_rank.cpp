#include "engine/ranks/gloo_rank.hpp"

#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using Clock = std::chrono::steady_clock;

/// Key under which a board has the first failure: the rank's number, a space, the line.
constexpr const char* kFailureKey = "failure";

/// The failure that the board has, if any.
std::optional<RankFailure> posted_failure(const Board& board) {
  const std::optional<std::string> text = board.find(kFailureKey);
  if (!text) return std::nullopt;
  const std::size_t space = text->find(' ');
  return RankFailure(std::atoi(text->c_str()), text->substr(space + 1));
}

/// Posts `failure` unless another one was first, and returns the first one.
RankFailure post_failure(Board& board, const RankFailure& failure) {
  board.post(kFailureKey, std::to_string(failure.rank()) + ' ' + failure.what());
  return posted_failure(board).value_or(failure);
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
    constexpr std::chrono::milliseconds kBetweenLooks{5};
    const auto end = Clock::now() + patience_;
    for (const std::string& key : keys) {
      while (!board_.find(name_of(key))) {
        if (const auto failure = posted_failure(board_)) throw RankFailure(*failure);
        if (Clock::now() > end) {
          throw post_failure(board_, rank_silent(std::atoi(key.c_str()), patience_));
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
    try {
      gloo::transport::tcp::attr address;
      address.hostname = settings.address;
      std::shared_ptr<gloo::transport::Device> device =
          gloo::transport::tcp::CreateDevice(address);
      BoardStore store(board, patience_);
      context_.setTimeout(patience_);
      context_.connectFullMesh(store, device);
    } catch (const gloo::Exception& error) {
      if (const auto failure = posted_failure(board_)) throw RankFailure(*failure);
      throw EnvironmentError(std::string("ranks cannot connect by ") + settings.address + ": " +
                             error.what());
    }
  }

  [[nodiscard]] World world() const { return world_; }

  /// What one peer is sent and what it sends; both may be empty.
  struct Parcel {
    std::span<const std::byte> out;
    std::span<std::byte> in;
  };
  /// Exchanges parcels with all peers, as `parcel` returns them by rank, and returns when all have
  /// arrived. Calls with the same `slot` must not overlap, and all ranks must make the same ones.
  void exchange(std::uint64_t slot, const std::function<Parcel(int peer)>& parcel) {
    std::vector<Transfer> transfers;
    for (int i = 1; i < world_.size; ++i) {
      const int peer = (world_.rank + i) % world_.size;
      transfers.push_back(start(slot, peer, parcel(peer)));
    }
    // Receives first: a peer that is late to receive must not be taken for one that is lost.
    for (Transfer& each : transfers) {
      if (each.in) of_peer(each.peer, [&] { return each.in->waitRecv(patience_); });
    }
    for (Transfer& each : transfers) {
      if (each.out) of_peer(each.peer, [&] { return each.out->waitSend(patience_); });
    }
  }

  void fail(const std::string& reason) noexcept {
    try {
      post_failure(board_, rank_failed(world_.rank, reason));
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

  Transfer start(std::uint64_t slot, int peer, const Parcel& parcel) {
    Transfer transfer{.peer = peer, .in = nullptr, .out = nullptr};
    of_peer(peer, [&] {
      if (!parcel.in.empty()) {
        transfer.in = context_.createUnboundBuffer(parcel.in.data(), parcel.in.size());
        transfer.in->recv(peer, slot);
      }
      if (!parcel.out.empty()) {
        // Gloo reads and writes by one type of buffer.
        auto* data = const_cast<std::byte*>(parcel.out.data());
        transfer.out = context_.createUnboundBuffer(data, parcel.out.size());
        transfer.out->send(peer, slot);
      }
      return true;
    });
    return transfer;
  }

  /// Calls `call`, which waits for `peer`, and turns what it throws into the failure of the rank
  /// that is to blame: the first that the board names, else `peer`.
  template <class Call>
  void of_peer(int peer, const Call& call) {
    const auto begin = Clock::now();
    try {
      if (call()) return;
    } catch (const gloo::Exception&) {
    }
    // Gloo's clock may be a little ahead.
    const bool waited = Clock::now() - begin >= patience_ * 9 / 10;
    throw post_failure(board_, waited ? rank_silent(peer, patience_) : rank_ended(peer));
  }

  World world_;
  Board& board_;
  std::chrono::milliseconds patience_;
  gloo::rendezvous::Context context_;
};

class GlooRank::MeshControl : public Control {
 public:
  explicit MeshControl(Mesh& mesh) : mesh_(mesh) {}
  [[nodiscard]] World world() const override { return mesh_.world(); }
  void fail(const std::string& reason) noexcept override { mesh_.fail(reason); }

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
  explicit MeshFabric(Mesh& mesh) : mesh_(mesh) {}
  [[nodiscard]] World world() const override { return mesh_.world(); }

  void all_gather(std::span<std::byte> whole) override {
    const auto [rank, size] = world();
    const std::size_t run = run_bytes(whole.size(), size);
    const auto run_of = [&](int each) {
      return whole.subspan(static_cast<std::size_t>(each) * run, run);
    };
    mesh_.exchange(kSlot, [&, own = run_of(rank)](int peer) {
      return Mesh::Parcel{own, run_of(peer)};
    });
  }

  void exchange(std::span<const std::byte> own, std::span<std::byte> received) override {
    const auto [rank, size] = world();
    const std::size_t run = run_bytes(own.size(), size);
    check(received.size() == run * static_cast<std::size_t>(size - 1),
          "an exchange receives one run a peer");
    mesh_.exchange(kSlot, [&, rank = rank](int peer) {
      return Mesh::Parcel{own.subspan(static_cast<std::size_t>(peer) * run, run),
                          received.subspan(peer_index(rank, peer) * run, run)};
    });
  }

 private:
  static constexpr std::uint64_t kSlot = 3;
  Mesh& mesh_;
};

GlooRank::GlooRank(World world, Board& board, const GlooSettings& settings)
    : mesh_(std::make_unique<Mesh>(world, board, settings)),
      control_(std::make_unique<MeshControl>(*mesh_)),
      fabric_(std::make_unique<MeshFabric>(*mesh_)) {}

GlooRank::~GlooRank() = default;

Control& GlooRank::control() { return *control_; }
Fabric& GlooRank::fabric() { return *fabric_; }

}  // namespace sluice::engine
