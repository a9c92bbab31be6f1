#include "engine/datasets/data.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "planner/files/hash.hpp"
#include "planner/runs/data_file.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

/// The finalizer of SplitMix64 (S. Vigna 2015), in which every input bit affects every output bit.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

constexpr std::size_t kTokenBuffer = std::size_t{64} << 10;

}  // namespace

std::int64_t shuffled(std::int64_t index, std::int64_t size, ShuffleKey order) {
  check(size > 0 && index >= 0 && index < size, "an index lies inside what is shuffled");
  const int bits = std::max(2, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(size))));
  const int half = (bits + 1) / 2;
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  const std::uint64_t key = mixed(mixed(order.seed) ^ order.epoch);
  auto value = static_cast<std::uint64_t>(index);
  do {
    std::uint64_t left = value >> half;
    std::uint64_t right = value & mask;
    for (std::uint64_t round = 0; round < 4; ++round) {
      const std::uint64_t next = left ^ (mixed(key + (round << 56) + right) & mask);
      left = right;
      right = next;
    }
    value = (left << half) | right;
  } while (value >= static_cast<std::uint64_t>(size));
  return static_cast<std::int64_t>(value);
}

WindowedText::WindowedText(std::int64_t seq_len, std::int64_t seed)
    : seq_len_(seq_len), seed_(static_cast<std::uint64_t>(seed)) {
  check(seq_len > 0, "a window holds tokens");
}

void WindowedText::cut(const std::filesystem::path& file, std::int64_t tokens,
                       const char* token_name) {
  tokens_ = tokens;
  windows_ = (tokens - 1) / seq_len_;
  if (windows_ < 2) {
    throw BadRequest("data: " + file.string() + " holds " + std::to_string(tokens) + " " +
                     token_name + ", and two windows of seq_len " + std::to_string(seq_len_) +
                     " need " + std::to_string(2 * seq_len_ + 1) +
                     ": give more text or a smaller seq_len");
  }
  divide(windows_);
}

void WindowedText::divide(std::int64_t windows) {
  windows_ = windows;
  training_ = windows - std::max<std::int64_t>(1, windows / 20);
}

void WindowedText::leave_out(const std::filesystem::path& file,
                             const std::function<bool(std::int64_t window)>& learns) {
  const std::int64_t all = windows_;
  std::vector<std::int64_t> kept;
  for (std::int64_t window = 0; window < all; ++window) {
    if (learns(window)) kept.push_back(window);
  }
  if (kept.size() < 2) {
    throw BadRequest("data: " + file.string() + ": " + std::to_string(kept.size()) + " of " +
                     std::to_string(all) + " windows of seq_len " + std::to_string(seq_len_) +
                     " have a token to learn, and training with validation needs two: give more "
                     "answers, or another seq_len");
  }
  left_out_ = all - std::ssize(kept);
  if (left_out_ == 0) return;
  const std::int64_t trained = std::ranges::lower_bound(kept, training_) - kept.begin();
  const bool both = trained > 0 && trained < std::ssize(kept);
  divide(std::ssize(kept));
  if (divided_ && both) training_ = trained;
  read_ = std::move(kept);
}

void WindowedText::take_all_windows() {
  if (left_out_ == 0) return;
  divide(windows_ + left_out_);
  left_out_ = 0;
  read_.clear();
}

void WindowedText::set_windows(std::int64_t training, std::int64_t validation,
                               std::int64_t tokens) {
  check(training > 0 && validation > 0, "there are sequences to train on and to validate with");
  tokens_ = tokens;
  windows_ = training + validation;
  training_ = training;
  divided_ = true;
}

std::int64_t WindowedText::training_window(std::int64_t position) const {
  return shuffled(position % training_, training_,
                  {.seed = seed_, .epoch = static_cast<std::uint64_t>(position / training_)});
}

void WindowedText::read(std::int64_t position, std::span<std::int32_t> inputs,
                        std::span<std::int32_t> targets) {
  const auto length = static_cast<std::size_t>(seq_len_);
  for (std::size_t at = 0; at < inputs.size(); at += length, ++position) {
    read_window(number_of(training_window(position)), &inputs[at], &targets[at]);
  }
}

void WindowedText::read_validation(std::int64_t first, std::span<std::int32_t> inputs,
                                   std::span<std::int32_t> targets) {
  const auto length = static_cast<std::size_t>(seq_len_);
  for (std::size_t at = 0; at < inputs.size(); at += length, ++first) {
    check(first < validation_windows(), "a validation window exists");
    read_window(number_of(training_ + first), &inputs[at], &targets[at]);
  }
}

ByteText::ByteText(const std::filesystem::path& file, std::int64_t seq_len, std::int64_t seed,
                   const std::filesystem::path& name)
    : WindowedText(seq_len, seed), file_(file), name_(name.empty() ? file : name) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) {
    throw BadRequest("data: cannot read " + file.string() + ": " + std::strerror(errno) +
                     " (give the path of a text file)");
  }
  planner::require_data_file(file);
  cut(file, status.st_size, "bytes");
  window_.resize(static_cast<std::size_t>(seq_len) + 1);
  descriptor_ = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) {
    throw BadRequest("data: cannot open " + file.string() + ": " + std::strerror(errno));
  }
}

ByteText::~ByteText() { ::close(descriptor_); }

std::string ByteText::description() const { return "bytes of " + name_.string(); }

double ByteText::unigram_entropy() const { return engine::unigram_entropy(file_); }

void ByteText::read_window(std::int64_t window, std::int32_t* inputs, std::int32_t* targets) {
  const ssize_t got = ::pread(descriptor_, window_.data(), window_.size(), window * seq_len());
  if (got != static_cast<ssize_t>(window_.size())) {
    throw EnvironmentError(
        "data: reading window " + std::to_string(window) + " of " + file_.string() +
        " failed: " + (got < 0 ? std::strerror(errno) : "the file became shorter"));
  }
  for (std::size_t i = 0; i + 1 < window_.size(); ++i) {
    inputs[i] = window_[i];
    targets[i] = window_[i + 1];
  }
}

std::string ByteText::hash() const {
  planner::Sha256 sha;
  std::vector<std::byte> buffer(kTokenBuffer);
  std::int64_t at = 0;
  for (;;) {
    const ssize_t got = ::pread(descriptor_, buffer.data(), buffer.size(), at);
    if (got < 0) {
      throw EnvironmentError("data: reading " + file_.string() +
                             " failed: " + std::strerror(errno));
    }
    if (got == 0) return sha.hex();
    sha.update(std::span<const std::byte>(buffer).first(static_cast<std::size_t>(got)));
    at += got;
  }
}

std::string padding_text(const WindowedText& text) {
  const std::int64_t sequences = text.training_windows() + text.validation_windows();
  const auto places = static_cast<double>(sequences * text.seq_len());
  char padding[32];
  std::snprintf(padding, sizeof padding, "%.1f %% padding",
                100 * (1 - static_cast<double>(text.used_places()) / places));
  return padding;
}

double entropy_of(std::span<const std::int64_t> counts) {
  std::int64_t total = 0;
  for (const std::int64_t count : counts) total += count;
  double entropy = 0;
  for (const std::int64_t count : counts) {
    if (count == 0) continue;
    const double share = static_cast<double>(count) / static_cast<double>(total);
    entropy -= share * std::log(share);
  }
  return entropy;
}

double unigram_entropy(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw BadRequest("data: cannot read " + file.string() + ": give a text file");
  std::array<std::int64_t, 256> counts{};
  std::vector<char> buffer(kTokenBuffer);
  while (in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())), in.gcount() > 0) {
    for (std::streamsize i = 0; i < in.gcount(); ++i) {
      ++counts[static_cast<unsigned char>(buffer[static_cast<std::size_t>(i)])];
    }
  }
  return entropy_of(counts);
}

}  // namespace sluice::engine
