#include "engine/launch/tcp_stream.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>

namespace sluice::engine {
namespace {

/// Waits until the connection that `socket` began is made; false if it is refused or takes longer
/// than `patience`.
bool is_connected(int socket, std::chrono::milliseconds patience) {
  pollfd event{.fd = socket, .events = POLLOUT, .revents = 0};
  if (poll(&event, 1, static_cast<int>(patience.count())) != 1) return false;
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

std::string text_of(const sockaddr* address, socklen_t size) {
  std::array<char, NI_MAXHOST> text{};
  if (getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0) {
    return "";
  }
  return text.data();
}

}  // namespace

TcpStream::~TcpStream() {
  if (socket_ >= 0) close(socket_);
}

std::optional<TcpStream> TcpStream::connect(const std::string& host, int port,
                                            std::chrono::milliseconds patience) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
    return std::nullopt;
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, freeaddrinfo);
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    TcpStream stream(::socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (stream.socket_ < 0) continue;
    const int begun = ::connect(stream.socket_, each->ai_addr, each->ai_addrlen);
    if (begun != 0 && (errno != EINPROGRESS || !is_connected(stream.socket_, patience))) continue;
    fcntl(stream.socket_, F_SETFL, fcntl(stream.socket_, F_GETFL) & ~O_NONBLOCK);
    const int yes = 1;
    setsockopt(stream.socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    stream.wait_at_most(patience);
    return stream;
  }
  return std::nullopt;
}

void TcpStream::wait_at_most(std::chrono::milliseconds patience) const {
  const timeval time{.tv_sec = patience.count() / 1000, .tv_usec = patience.count() % 1000 * 1000};
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

bool TcpStream::send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

Received TcpStream::receive(std::span<char> bytes) const {
  while (!bytes.empty()) {
    const ssize_t came = recv(socket_, bytes.data(), bytes.size(), 0);
    if (came < 0 && errno == EINTR) continue;
    if (came < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Received::silent;
    if (came <= 0) return Received::ended;
    bytes = bytes.subspan(static_cast<std::size_t>(came));
  }
  return Received::all;
}

bool TcpStream::send_text(std::string_view text) const {
  const std::uint32_t size = htonl(static_cast<std::uint32_t>(text.size()));
  std::string whole(reinterpret_cast<const char*>(&size), sizeof size);
  return send(whole.append(text));
}

Received TcpStream::receive_text(std::string& text) const {
  constexpr std::uint32_t kLongest = 64U << 20U;
  std::uint32_t size = 0;
  const Received head = receive({reinterpret_cast<char*>(&size), sizeof size});
  if (head != Received::all) return head;
  if (ntohl(size) > kLongest) return Received::ended;  // It speaks another protocol.
  text.resize(ntohl(size));
  return receive(text);
}

void TcpStream::shut() const { ::shutdown(socket_, SHUT_RDWR); }

std::string TcpStream::own_address() const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  if (getsockname(socket_, plain, &size) != 0) return "";
  return text_of(plain, size);
}

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

std::vector<std::string> own_addresses(const std::optional<std::string>& only) {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owned(first, freeifaddrs);
  std::vector<std::string> addresses;
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    const bool usable = each->ifa_addr != nullptr && each->ifa_addr->sa_family == AF_INET &&
                        (each->ifa_flags & IFF_UP) != 0;
    if (!usable || (only && *only != each->ifa_name)) continue;
    addresses.push_back(text_of(each->ifa_addr, sizeof(sockaddr_in)));
  }
  std::stable_partition(addresses.begin(), addresses.end(),
                        [](const auto& each) { return !is_loopback(each); });
  return addresses;
}

}  // namespace sluice::engine
