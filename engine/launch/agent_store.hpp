// Client of the store of torchrun's agent.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "engine/launch/launch.hpp"
#include "engine/launch/tcp_stream.hpp"

namespace sluice::engine {

/// A connection to a TCPStore, in the form of the store's version: from 2.1 on PyTorch's stores
/// expect a greeting first, and count their queries from it.
class AgentStoreClient {
 public:
  /// Connects and finds out the version. Throws EnvironmentError if no store answers within
  /// `patience`.
  AgentStoreClient(const AgentStore& store, std::chrono::milliseconds patience);

  /// Sets `key` to `value`, whatever it was. Throws EnvironmentError if the store is gone.
  void set(const std::string& key, const std::string& value);
  /// The value of `key`; none if nobody has set it. Throws EnvironmentError if the store is gone.
  [[nodiscard]] std::optional<std::string> find(const std::string& key);
  /// Numeric address by which this host reaches the store.
  [[nodiscard]] std::string own_address() const { return stream_.own_address(); }

 private:
  enum class Query : char { set = 0, get = 2, check = 4, number_of_keys = 6 };
  void ask(Query query, const std::string& rest);
  void receive(std::span<char> bytes);
  [[noreturn]] void fail() const;

  AgentStore store_;
  bool greets_;  ///< Whether the store expects a greeting.
  TcpStream stream_;
};

}  // namespace sluice::engine
