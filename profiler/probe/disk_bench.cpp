#include "profiler/probe/disk_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "profiler/probe/disk_movers.hpp"
#include "profiler/probe/lasting_rate.hpp"
#include "profiler/probe/sampling.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::profiler {
namespace {

using engine::Direction;

constexpr int kSlices = 6;
constexpr int kLastingSlices = 60;
constexpr std::array kDepths = {4U, 8U, 16U, 32U, 64U, 128U};
/// Share of the best rate at which a smaller depth is enough: less is in flight when something
/// fails.
constexpr double kEnoughOfBest = 0.97;

/// The fewest blocks in flight that move about as much, in both directions at once, as any number.
unsigned best_depth(const ScratchFile& file, Seconds budget) {
  std::array<double, kDepths.size()> together{};
  for (std::size_t i = 0; i < kDepths.size(); ++i) {
    for (const Samples& each :
         rates_at_once(file, {Direction::read, Direction::write}, kDepths[i], budget, 2)) {
      together[i] += median(each);
    }
  }
  const double most = *std::ranges::max_element(together);
  const auto enough =
      std::ranges::find_if(together, [&](double rate) { return rate >= kEnoughOfBest * most; });
  return kDepths[static_cast<std::size_t>(enough - together.begin())];
}

/// The lasting rate as text, such as "went on at 2.45 GB/s together for 180 s", or when it fell and
/// to what.
std::string lasting_text(const LastingRate& together, std::size_t slices, Seconds lasting) {
  const double now = median(together.lasting) / 1e9;
  if (!together.first) {
    return fmt::format("went on at {:.2f} GB/s together for {:.0f} s", now, lasting.count());
  }
  const Seconds after =
      lasting * (static_cast<double>(together.fell_after + 1) / static_cast<double>(slices + 1));
  return fmt::format("fell from {:.2f} to {:.2f} GB/s together after {:.0f} s and {:.0f} GB",
                     *together.first / 1e9, now, after.count(),
                     *together.first * after.count() / 1e9);
}

void require_room(const std::filesystem::path& folder, Bytes size, Bytes available) {
  if (size <= available) return;
  throw EnvironmentError("disk at " + folder.string() + ": --disk-size asks for " +
                         planner::format_bytes(size) + " and " + planner::format_bytes(available) +
                         " are free: state less, or probe another drive (--disk-path)");
}

/// Measures both directions at once for `lasting`, and takes the rates after a fall.
void measure_lasting(const ScratchFile& file, unsigned depth, Seconds lasting,
                     const std::string& how, DiskRates& found) {
  std::vector<Samples> each =
      rates_at_once(file, {Direction::read, Direction::write}, depth, lasting, kLastingSlices);
  Samples sums(each[0].size());
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = each[0][i] + each[1][i];
  const LastingRate together = lasting_rate(sums);
  for (Samples& samples : each) {
    samples.erase(samples.begin(),
                  samples.begin() + static_cast<std::ptrdiff_t>(together.fell_after));
  }
  const std::string note = fmt::format("{}, the end of {:.0f} s", how, lasting.count());
  found.read_beside = measured_bandwidth(each[0], note + ", while writing");
  found.write_beside = measured_bandwidth(each[1], note + ", while reading");
  found.lasted = lasting_text(together, sums.size(), lasting);
}

}  // namespace

std::optional<planner::Bandwidth> DiskRates::shared_limit() const {
  constexpr double kApart = 0.95;
  planner::Bandwidth both = read_beside;
  both.value = read_beside.value + write_beside.value;
  both.deviation =
      BytesPerSecond(std::hypot(read_beside.deviation.count(), write_beside.deviation.count()));
  both.note = "reading and writing at once";
  if (both.value > kApart * (read.value + write.value)) return std::nullopt;
  return both;
}

void DiskRates::enter(planner::MachineProfile& profile) const {
  profile.disk_read = read;
  profile.disk_write = write;
  if (const auto both = shared_limit()) profile.disk_both = *both;
  if (depth) profile.disk_depth = *depth;
  if (free) profile.disk = *free;
}

std::string DiskRates::text() const {
  const auto gigabytes = [](const planner::Bandwidth& rate) { return rate.value.count() / 1e9; };
  std::string said =
      fmt::format("{:.2f} read, {:.2f} written; together {:.2f} and {:.2f} GB/s", gigabytes(read),
                  gigabytes(write), gigabytes(read_beside), gigabytes(write_beside));
  said += shared_limit() ? ", which share one limit" : ", each with a limit of its own";
  said += "; in a file of " + planner::format_bytes(file);
  if (lasted) said += "; " + *lasted;
  if (depth) said += fmt::format("; {:.0f} blocks in flight", depth->value);
  return said;
}

std::optional<std::string> DiskBenchOptions::long_work() const {
  std::string said;
  if (drive.size) said = "writing a file of " + planner::format_bytes(*drive.size);
  if (drive.lasting > Seconds(0)) {
    said += fmt::format("{}reading and writing for {:.0f} s", said.empty() ? "" : ", then ",
                        drive.lasting.count());
  }
  if (said.empty()) return std::nullopt;
  return said;
}

DiskRates measure_disk(const DiskBenchOptions& options) {
  const std::filesystem::path& folder = options.drive.folder;
  std::error_code error;
  const auto space = std::filesystem::space(folder, error);
  Bytes size = options.file;
  if (options.drive.size) {
    size = *options.drive.size;
    require_room(folder, size, error ? size : Bytes(static_cast<std::int64_t>(space.available)));
  } else if (!error) {
    size = std::min(size, Bytes(static_cast<std::int64_t>(space.available / 4)));
  }
  const ScratchFile file(folder, size);
  DiskRates found;
  found.file = file.size();
  if (!error) {
    const auto available = static_cast<double>(space.available);
    found.free = planner::Fact{.value = available,
                               .deviation = 0.1 * available,
                               .count = 1,
                               .source = planner::Source::measured,
                               .note = "free under " + folder.string()};
  }
  unsigned depth = engine::kUsualDepth;
  std::string how = file.direct() ? "O_DIRECT, " : "page cache, ";
  if (engine::has_io_uring()) {
    depth = best_depth(file, options.budget / 3);
    found.depth = planner::Fact{.value = static_cast<double>(depth),
                                .deviation = 0,
                                .count = static_cast<std::int64_t>(kDepths.size()),
                                .source = planner::Source::measured,
                                .note = "blocks of 256 KiB, each direction, through io_uring"};
    how += "io_uring, " + std::to_string(depth) + " blocks of 256 KiB in flight, sustained";
  } else {
    how += "4 threads, blocks of 256 KiB, sustained";
  }
  const auto alone = [&](Direction direction) {
    file.flush();
    return measured_bandwidth(
        rates_at_once(file, {direction}, depth, options.budget, kSlices).front(), how);
  };
  const bool lasting = options.drive.lasting > Seconds(0);
  if (lasting) measure_lasting(file, depth, options.drive.lasting, how, found);
  found.write = alone(Direction::write);
  found.read = alone(Direction::read);
  if (!lasting) {
    const std::vector<Samples> beside =
        rates_at_once(file, {Direction::read, Direction::write}, depth, options.budget, kSlices);
    found.read_beside = measured_bandwidth(beside[0], how + ", while writing");
    found.write_beside = measured_bandwidth(beside[1], how + ", while reading");
  }
  if (!file.direct()) {
    found.caveat =
        "the file system refuses O_DIRECT, so these are rates of the page cache: probe a folder "
        "on the disk that training will use (--disk-path)";
  }
  return found;
}

}  // namespace sluice::profiler
