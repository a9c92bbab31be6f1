#include "engine/launch/tcp_listener.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstdint>

namespace sluice::engine {

std::optional<TcpListener> TcpListener::at(int port) {
  TcpStream listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  setsockopt(listener.socket(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  const int bound =
      ::bind(listener.socket(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (bound != 0 || ::listen(listener.socket(), SOMAXCONN) != 0) return std::nullopt;
  return TcpListener(std::move(listener));
}

int TcpListener::port() const {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(socket_.socket(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

std::optional<TcpStream> TcpListener::accept() const {
  const int socket = ::accept4(socket_.socket(), nullptr, nullptr, SOCK_CLOEXEC);
  if (socket < 0) return std::nullopt;
  return TcpStream(socket);
}

std::optional<TcpStream> TcpListener::accept(std::chrono::milliseconds patience) const {
  pollfd event{.fd = socket_.socket(), .events = POLLIN, .revents = 0};
  if (poll(&event, 1, static_cast<int>(patience.count())) != 1) return std::nullopt;
  return accept();
}

}  // namespace sluice::engine
