// Connections over TCP that carry texts.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::engine {

/// How a read from a connection ended.
enum class Received {
  all,     ///< Everything that was asked for arrived.
  ended,   ///< The other side closed the connection, or its process ended.
  silent,  ///< Nothing arrived within the time that is allowed.
};

/// One side of a connection; closed with this object.
class TcpStream {
 public:
  explicit TcpStream(int socket) : socket_(socket) {}
  ~TcpStream();
  TcpStream(TcpStream&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  TcpStream& operator=(TcpStream&&) = delete;  // Nobody needs it.

  /// Connects to `host`, a name or an address; none if nobody listens there, or the host is not
  /// reached within `patience`.
  [[nodiscard]] static std::optional<TcpStream> connect(const std::string& host, int port,
                                                        std::chrono::milliseconds patience);

  /// How long reads and writes wait from now on.
  void wait_at_most(std::chrono::milliseconds patience) const;
  /// Whether all of `bytes` could be sent.
  [[nodiscard]] bool send(std::string_view bytes) const;
  [[nodiscard]] Received receive(std::span<char> bytes) const;
  /// Sends the length of `text` and then the text.
  [[nodiscard]] bool send_text(std::string_view text) const;
  /// Receives what send_text() sends, unless it is longer than such texts are.
  [[nodiscard]] Received receive_text(std::string& text) const;
  /// Ends reads that wait on this side, from any thread.
  void shut() const;
  /// Numeric address of this side.
  [[nodiscard]] std::string own_address() const;
  [[nodiscard]] int socket() const { return socket_; }

 private:
  int socket_;
};

/// Whether `address` is one by which only processes of this host reach each other.
[[nodiscard]] bool is_loopback(const std::string& address);
/// Numeric addresses of this host's network interfaces that are up, loopback last; those of the
/// interface `only` where it is given.
[[nodiscard]] std::vector<std::string> own_addresses(const std::optional<std::string>& only);

}  // namespace sluice::engine
