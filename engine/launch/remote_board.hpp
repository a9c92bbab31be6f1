// The first rank's notice board, as the other ranks see it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "engine/launch/tcp_stream.hpp"
#include "engine/ranks/board.hpp"

namespace sluice::engine {

/// Connection to a ServedBoard. Says every second that this rank is alive. Once the first rank is
/// gone, the board holds that as its failure, and nothing else can be asked of it.
class RemoteBoard : public Board {
 public:
  /// Takes a connection on which this rank was let in; `first_host` names the first rank's host,
  /// `silence` says after how long without an answer that rank is taken for lost.
  RemoteBoard(TcpStream stream, std::string first_host, std::chrono::milliseconds silence);
  ~RemoteBoard() override;

  /// Both throw RankFailure for a key other than a failure's if the first rank is gone.
  bool post(const std::string& key, const std::string& text) override;
  [[nodiscard]] std::optional<std::string> find(const std::string& key) const override;
  [[nodiscard]] std::string place() const override { return "the board of " + first_host_; }
  /// Numeric address by which this rank reaches the first one.
  [[nodiscard]] std::string own_address() const { return stream_.own_address(); }

 private:
  /// The answer to `request`; none if the first rank is gone.
  [[nodiscard]] std::optional<std::string> ask(const std::string& request) const;
  void lose(Received how) const;

  TcpStream stream_;
  std::string first_host_;
  std::chrono::milliseconds silence_;
  mutable std::mutex mutex_;  ///< Guards the connection and everything below.
  mutable MemoryBoard last_;  ///< The failure, once the first rank is gone.
  mutable bool lost_ = false;
  bool ends_ = false;
  std::condition_variable woken_;
  std::thread alive_;
};

}  // namespace sluice::engine
