#include "planner/files/hash.hpp"

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

namespace sluice::planner {
namespace {

// FIPS 180-4 examples, and one message whose padding just overflows a block.
TEST(Sha256, GivesThePublishedDigests) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, AgreesWithItselfOnManyThreads) {
  const std::string text(100000, 'y');
  const std::string alone = sha256_hex(text);
  std::array<std::string, 4> together;
  {
    std::vector<std::jthread> threads;
    for (std::string& hex : together) {
      threads.emplace_back([&] { hex = Sha256{}.update(text).hex(); });
    }
  }
  for (const std::string& hex : together) EXPECT_EQ(hex, alone);
}

TEST(Sha256, DoesNotDependOnHowTheMessageIsCut) {
  const std::string text(300, 'x');
  for (const std::size_t piece : {1u, 7u, 63u, 64u, 65u, 128u}) {
    Sha256 hash;
    for (std::size_t at = 0; at < text.size(); at += piece) hash.update(text.substr(at, piece));
    EXPECT_EQ(hash.hex(), sha256_hex(text)) << piece;
    EXPECT_EQ(hash.hex(), sha256_hex(text)) << "reading the digest disturbs nothing";
  }
}

TEST(CanonicalText, WritesDoublesSoThatTheyReadBackToTheSameBits) {
  CanonicalText text("kind/1");
  text.add("a", 0.1).add("b", std::int64_t{-3}).add("c", true).add("d", "word");
  EXPECT_EQ(text.text(), "kind/1\na=0.1\nb=-3\nc=true\nd=word\n");
}

}  // namespace
}  // namespace sluice::planner
