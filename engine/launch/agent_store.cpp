#include "engine/launch/agent_store.hpp"

#include <cstdint>
#include <cstring>
#include <string_view>

#include "sim/error.hpp"

namespace sluice::engine {
namespace {

constexpr std::chrono::seconds kAnswerWithin{10};

// Numbers travel in the byte order of the processor, as torchrun's own clients send them.
template <class Number>
std::string bytes_of(Number number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

std::string with_length(std::string_view text) {
  return bytes_of(static_cast<std::uint64_t>(text.size())).append(text);
}

TcpStream connected(const AgentStore& store, std::chrono::milliseconds patience) {
  auto stream = TcpStream::connect(store.host, store.port, patience);
  if (stream) return std::move(*stream);
  throw EnvironmentError("launch: nobody answers at " + place_text(store) +
                         ": start the program by torchrun, or name a meeting place by "
                         "--rendezvous");
}

/// Whether the store expects a greeting. An older one answers the question for its number of keys;
/// to a newer one the same byte is no greeting, and it closes the connection, or waits for more.
bool expects_greeting(const AgentStore& store, std::chrono::milliseconds patience) {
  constexpr char kNumberOfKeys = 6;
  constexpr std::chrono::seconds kOldOnesAnswerWithin{2};
  const TcpStream stream = connected(store, patience);
  stream.wait_at_most(kOldOnesAnswerWithin);
  std::int64_t keys = 0;
  return !stream.send({&kNumberOfKeys, 1}) ||
         stream.receive({reinterpret_cast<char*>(&keys), sizeof keys}) != Received::all;
}

}  // namespace

AgentStoreClient::AgentStoreClient(const AgentStore& store, std::chrono::milliseconds patience)
    : store_(store),
      greets_(expects_greeting(store, patience)),
      stream_(connected(store, patience)) {
  stream_.wait_at_most(kAnswerWithin);
  constexpr std::uint32_t kGreeting = 0x3C85F7CE;
  const char validate = 0;
  if (greets_ && !stream_.send(std::string(1, validate) + bytes_of(kGreeting))) fail();
}

void AgentStoreClient::set(const std::string& key, const std::string& value) {
  ask(Query::set, with_length(key) + with_length(value));
  // A store that has this query behind it has done the one before.
  (void)find(key);
}

std::optional<std::string> AgentStoreClient::find(const std::string& key) {
  constexpr std::uint64_t kOneKey = 1;
  constexpr char kReady = 0;
  ask(Query::check, bytes_of(kOneKey) + with_length(key));
  char is_ready = 0;
  receive({&is_ready, 1});
  if (is_ready != kReady) return std::nullopt;
  ask(Query::get, with_length(key));
  std::uint64_t size = 0;
  receive({reinterpret_cast<char*>(&size), sizeof size});
  constexpr std::uint64_t kLongest = 1U << 20U;
  if (size > kLongest) fail();
  std::string value(size, '\0');
  receive(value);
  return value;
}

void AgentStoreClient::ask(Query query, const std::string& rest) {
  const char number = static_cast<char>(static_cast<char>(query) + (greets_ ? 1 : 0));
  if (!stream_.send(std::string(1, number) + rest)) fail();
}

void AgentStoreClient::receive(std::span<char> bytes) {
  if (stream_.receive(bytes) != Received::all) fail();
}

void AgentStoreClient::fail() const {
  throw EnvironmentError("launch: " + place_text(store_) +
                         " does not answer as a TCPStore does: see whether torchrun ended, or name "
                         "a meeting place by --rendezvous");
}

}  // namespace sluice::engine
