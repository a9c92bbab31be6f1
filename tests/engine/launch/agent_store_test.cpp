// The client of torchrun's store, against stores of both forms of its protocol.
#include "engine/launch/agent_store.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstring>
#include <map>
#include <thread>
#include <vector>

#include "sim/error.hpp"

namespace sluice::engine::test {
namespace {

/// A store of one thread a connection, which knows the queries that the client makes.
class FakeStore {
 public:
  /// `greeted`: whether it expects a greeting first, as newer ones do.
  explicit FakeStore(bool greeted)
      : greeted_(greeted), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    ::listen(listener_.socket(), 4);
    thread_ = std::thread([this] {
      for (;;) {
        const int socket = ::accept(listener_.socket(), nullptr, nullptr);
        if (socket < 0) return;
        TcpStream stream(socket);
        stream.wait_at_most(std::chrono::seconds(5));
        serve(stream);
      }
    });
  }
  ~FakeStore() {
    listener_.shut();
    thread_.join();
  }
  [[nodiscard]] AgentStore address() const {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    getsockname(listener_.socket(), reinterpret_cast<sockaddr*>(&address), &size);
    return {"127.0.0.1", ntohs(address.sin_port)};
  }

 private:
  template <class Number>
  static std::optional<Number> number(const TcpStream& stream) {
    Number value{};
    const auto how = stream.receive({reinterpret_cast<char*>(&value), sizeof value});
    return how == Received::all ? std::optional(value) : std::nullopt;
  }
  static std::string text(const TcpStream& stream) {
    std::string text(number<std::uint64_t>(stream).value(), '\0');
    EXPECT_EQ(stream.receive(text), Received::all);
    return text;
  }
  template <class Number>
  static void answer(const TcpStream& stream, Number value) {
    EXPECT_TRUE(stream.send({reinterpret_cast<const char*>(&value), sizeof value}));
  }

  void serve(const TcpStream& stream) {
    if (greeted_) {
      const auto first = number<char>(stream);
      if (first != 0 || number<std::uint32_t>(stream) != 0x3C85F7CE) return;
    }
    while (const auto query = number<char>(stream)) {
      switch (*query - (greeted_ ? 1 : 0)) {
        case 0: {
          const std::string key = text(stream);
          values_[key] = text(stream);
          break;
        }
        case 2: {
          const std::string& value = values_[text(stream)];
          answer(stream, static_cast<std::uint64_t>(value.size()));
          EXPECT_TRUE(stream.send(value));
          break;
        }
        case 4:
          EXPECT_EQ(number<std::uint64_t>(stream), 1U);
          answer(stream, static_cast<char>(values_.contains(text(stream)) ? 0 : 1));
          break;
        case 6:
          answer(stream, static_cast<std::int64_t>(values_.size()));
          break;
        default:
          ADD_FAILURE() << "query " << int{*query};
          return;
      }
    }
  }

  bool greeted_;
  TcpStream listener_;
  std::map<std::string, std::string> values_;
  std::thread thread_;
};

class StoreForms : public ::testing::TestWithParam<bool> {};

TEST_P(StoreForms, KeepAndReplaceAText) {
  const FakeStore store(GetParam());
  {
    AgentStoreClient client(store.address(), std::chrono::seconds(5));
    EXPECT_EQ(client.find("first"), std::nullopt);
    client.set("first", "one");
    client.set("first", "two");
  }
  AgentStoreClient other(store.address(), std::chrono::seconds(5));
  EXPECT_EQ(other.find("first"), "two");
  EXPECT_EQ(other.own_address(), "127.0.0.1");
}

INSTANTIATE_TEST_SUITE_P(AgentStore, StoreForms, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Greeted" : "Plain"; });

TEST(AgentStore, ThatIsAbsentIsNamed) {
  try {
    const AgentStoreClient client({"127.0.0.1", 1}, std::chrono::milliseconds(200));
    FAIL();
  } catch (const EnvironmentError& error) {
    EXPECT_NE(std::string(error.what()).find("torchrun's store at 127.0.0.1:1"), std::string::npos);
  }
}

}  // namespace
}  // namespace sluice::engine::test
