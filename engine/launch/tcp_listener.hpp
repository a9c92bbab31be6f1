// A port at which this process awaits connections.
#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include "engine/launch/tcp_stream.hpp"

namespace sluice::engine {

/// Listens at a port until it is destroyed.
class TcpListener {
 public:
  /// Listens at `port` of all addresses, or at any free one for 0; none if the port is taken, and
  /// errno says why.
  [[nodiscard]] static std::optional<TcpListener> at(int port);

  [[nodiscard]] int port() const;
  /// The next connection; none if none comes within `patience`, or the listener was shut.
  [[nodiscard]] std::optional<TcpStream> accept(std::chrono::milliseconds patience) const;
  /// The next connection, however long it takes; none once the listener was shut.
  [[nodiscard]] std::optional<TcpStream> accept() const;
  /// Ends waits for connections, from any thread.
  void shut() const { socket_.shut(); }

 private:
  explicit TcpListener(TcpStream socket) : socket_(std::move(socket)) {}
  TcpStream socket_;
};

}  // namespace sluice::engine
