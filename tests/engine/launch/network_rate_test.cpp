// What ranks find of the network between their hosts.
#include "engine/launch/network_rate.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "engine/launch/nic_speed.hpp"
#include "tests/engine/scratch_folder.hpp"

namespace sluice::engine::test {
namespace {

using std::chrono::milliseconds;

/// What ranks on hosts of these names find, by rank.
std::vector<NetworkRate> found_by(const std::vector<std::string>& hosts) {
  const ScratchFolder folder;
  const SharedFolder place{folder.path() / "meet"};
  const int size = static_cast<int>(hosts.size());
  std::vector<std::future<std::unique_ptr<Gathering>>> coming;
  for (int rank = 0; rank < size; ++rank) {
    coming.push_back(std::async(std::launch::async, [=] {
      return std::make_unique<Gathering>(Launch{.by = Launcher::variables,
                                                .world = {rank, size},
                                                .place = place,
                                                .host = hosts[static_cast<std::size_t>(rank)]},
                                         GatheringSettings{.patience = std::chrono::seconds(20)});
    }));
  }
  std::vector<std::unique_ptr<Gathering>> ranks;
  for (auto& each : coming) ranks.push_back(each.get());
  std::vector<std::future<NetworkRate>> measuring;
  for (const auto& each : ranks) {
    measuring.push_back(std::async(std::launch::async, [&each] {
      return network_rate(*each,
                          {.measured_for = milliseconds(500), .warmed_for = milliseconds(50)});
    }));
  }
  std::vector<NetworkRate> found;
  for (auto& each : measuring) found.push_back(each.get());
  while (ranks.size() > 1) ranks.pop_back();  // The first rank leaves last.
  return found;
}

TEST(NetworkRate, IsMeasuredAndTheSameOnAllRanks) {
  for (const auto& hosts :
       {std::vector<std::string>{"a", "b"}, std::vector<std::string>{"a", "a", "b", "b", "c", "c"},
        std::vector<std::string>{"a", "b", "a", "b"}}) {
    const std::vector<NetworkRate> found = found_by(hosts);
    for (const NetworkRate& each : found) {
      EXPECT_EQ(each.from, NetworkRate::From::measurement);
      EXPECT_GT(each.bytes_per_second, 1e4);
      EXPECT_EQ(each.bytes_per_second, found.front().bytes_per_second);
    }
  }
}

TEST(NetworkRate, IsReadAsItIsWritten) {
  const NetworkRate rate{1234567890.25, NetworkRate::From::cards};
  const auto read = network_rate_of(to_text(rate));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->bytes_per_second, rate.bytes_per_second);
  EXPECT_EQ(read->from, rate.from);
  for (const char* text : {"", "fast 1", "1e9", "0 1", "-1 1", "1e9 4", "1e9 -1"}) {
    EXPECT_FALSE(network_rate_of(text)) << text;
  }
}

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text << '\n';
}

TEST(InfinibandCards, AreTheActivePortsTogether) {
  const ScratchFolder folder;
  EXPECT_FALSE(infiniband_bits_per_second(folder.path() / "absent"));
  write(folder.path() / "mlx5_0/ports/1/state", "4: ACTIVE");
  write(folder.path() / "mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)");
  write(folder.path() / "mlx5_1/ports/1/state", "1: DOWN");
  write(folder.path() / "mlx5_1/ports/1/rate", "10 Gb/sec (4X SDR)");
  write(folder.path() / "mlx5_2/ports/1/state", "4: ACTIVE");
  write(folder.path() / "mlx5_2/ports/1/rate", "200 Gb/sec (4X HDR)");
  EXPECT_EQ(infiniband_bits_per_second(folder.path()), 600e9);
}

}  // namespace
}  // namespace sluice::engine::test
