#include "engine/rehearsal/window_values.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <mutex>
#include <thread>

#include "engine/optimizer/master_weights.hpp"
#include "planner/effort/parallel_for.hpp"
#include "planner/graph/record.hpp"

namespace sluice::engine {
namespace {

using planner::GradientWire;
using planner::HostWindow;
using planner::WindowUse;

/// Random bits of four halves at once: sign and low 8 bits; 0x3C80 + 0xFF is below 2^-4 as bf16.
constexpr std::uint64_t kRandomBits = 0x80FF'80FF'80FF'80FF;
constexpr std::uint64_t kSigns = 0x8000'8000'8000'8000;
constexpr std::uint64_t kSmall = 0x3C80'3C80'3C80'3C80;
/// Four halves of 2^-1, which random low bits raise to at most 2.
constexpr std::uint64_t kOne = 0x3F00'3F00'3F00'3F00;
/// Four halves of 2^-12 (or slightly more, with random low bits), the size of squares.
constexpr std::uint64_t kSmallSquare = 0x3980'3980'3980'3980;
constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::size_t kWindowPiece = std::size_t{8} << 20;

/// Word `index` of a stream of random words: Sebastiano Vigna's splitmix64.
std::uint64_t random_word(std::uint64_t index) {
  std::uint64_t z = (index + 1) * 0x9E37'79B9'7F4A'7C15;
  z = (z ^ (z >> 30)) * 0xBF58'476D'1CE4'E5B9;
  z = (z ^ (z >> 27)) * 0x94D0'49BB'1331'11EB;
  return z ^ (z >> 31);
}

template <class Word>
void fill_words(std::span<std::byte> bytes, std::uint64_t first, const Word& word) {
  for (std::size_t at = 0; at < bytes.size(); at += kWord) {
    const std::uint64_t value = word(random_word(first + at / kWord));
    std::memcpy(bytes.data() + at, &value, std::min(kWord, bytes.size() - at));
  }
}

/// Fills with fp32 whose upper halves `halves` makes from a random word, four for each word.
template <class Halves>
void fill_floats(std::span<std::byte> bytes, std::uint64_t first, const Halves& halves) {
  constexpr std::size_t kFour = 4 * sizeof(std::uint32_t);
  for (std::size_t at = 0; at < bytes.size(); at += kFour) {
    const std::uint64_t random = random_word(first + at / kFour);
    const auto upper = std::bit_cast<std::array<std::uint16_t, 4>>(halves(random));
    const auto lower = std::bit_cast<std::array<std::uint16_t, 4>>(random);
    std::array<std::uint32_t, 4> values{};
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<std::uint32_t>(upper[i]) << 16 | lower[i];
    }
    std::memcpy(bytes.data() + at, values.data(), std::min(kFour, bytes.size() - at));
  }
}

std::uint64_t weight_of(std::uint64_t random) { return (random & kRandomBits) + kSmall; }
std::uint64_t gradient_of(std::uint64_t random) { return weight_of(random) ^ kSigns; }
std::uint64_t square_of(std::uint64_t random) {
  return (random & kRandomBits & ~kSigns) + kSmallSquare;
}

/// Fills a piece. `element` is the size of the part's elements, so that element i of every operand
/// is made from the same word. Elements of a piece begin at a multiple of four.
void fill_piece(WindowUse use, GradientWire wire, std::span<std::byte> piece, std::size_t begin) {
  const std::uint64_t word_of_halves = begin / kWord;
  const std::uint64_t word_of_floats = begin / (2 * kWord);
  switch (use) {
    case WindowUse::shared:
      return static_cast<void>(std::memset(piece.data(), 0, piece.size()));
    case WindowUse::from_disk:
    case WindowUse::to_disk:
    case WindowUse::loaded:
    case WindowUse::loaded_record:
    case WindowUse::stored:
    case WindowUse::high:
      return fill_words(piece, word_of_halves, weight_of);
    case WindowUse::low:
      return fill_words(piece, word_of_halves, [](std::uint64_t random) { return random; });
    case WindowUse::loaded_moment2:
    case WindowUse::moment2:
      return fill_floats(piece, word_of_floats, square_of);
    case WindowUse::moment1:
      return fill_floats(piece, word_of_floats, gradient_of);
    case WindowUse::gradient:
      if (wire == GradientWire::bf16) return fill_words(piece, word_of_halves, gradient_of);
      return fill_floats(piece, word_of_floats, gradient_of);
  }
}

/// Calls body(part, begin, bytes) over all parts in pieces, on all cores.
template <class Body>
void over_pieces(const HostWindow& window, const Body& body) {
  struct Piece {
    planner::WindowPart part;
    std::size_t begin, bytes;
  };
  std::vector<Piece> pieces;
  for (const planner::WindowPart& part : window.parts()) {
    const auto bytes = static_cast<std::size_t>(part.bytes.count());
    pieces.reserve(pieces.size() + bytes / kWindowPiece + 1);
    for (std::size_t begin = 0; begin < bytes; begin += kWindowPiece) {
      pieces.push_back({part, begin, std::min(kWindowPiece, bytes - begin)});
    }
  }
  planner::parallel_for(pieces.size(), std::thread::hardware_concurrency(), [&](std::size_t i) {
    body(pieces[i].part, pieces[i].begin, pieces[i].bytes);
  });
}

/// Counts an fp32 by its bits; bf16 has the same exponent.
void count_value(ValueCensus& census, std::uint32_t bits) {
  const std::uint32_t exponent = bits >> 23 & 0xFF;
  const std::uint32_t fraction = bits & 0x7F'FFFF;
  if (exponent == 0xFF) ++(fraction == 0 ? census.infinite : census.nan);
  if (exponent == 0) ++(fraction == 0 ? census.zero : census.denormal);
}

template <class Element, class Bits>
ValueCensus census(std::span<const std::byte> values, const Bits& bits) {
  ValueCensus sum;
  sum.values = static_cast<std::int64_t>(values.size() / sizeof(Element));
  for (std::size_t at = 0; at + sizeof(Element) <= values.size(); at += sizeof(Element)) {
    Element element;
    std::memcpy(&element, values.data() + at, sizeof element);
    count_value(sum, bits(element, at / sizeof(Element)));
  }
  return sum;
}

std::span<const std::byte> part_of(std::span<const std::byte> host, Bytes offset, Bytes bytes) {
  return host.subspan(static_cast<std::size_t>(offset.count()),
                      static_cast<std::size_t>(bytes.count()));
}

/// Counts master weights joined from halves.
ValueCensus census_of_masters(std::span<const std::byte> high, std::span<const std::byte> low) {
  return census<std::uint16_t>(high, [low](std::uint16_t half, std::size_t i) {
    std::uint16_t rest = 0;
    std::memcpy(&rest, low.data() + i * sizeof rest, sizeof rest);
    return std::bit_cast<std::uint32_t>(join_master({half, rest}));
  });
}

}  // namespace

ValueCensus& ValueCensus::operator+=(const ValueCensus& other) {
  values += other.values;
  nan += other.nan;
  infinite += other.infinite;
  denormal += other.denormal;
  zero += other.zero;
  return *this;
}

ValueCensus census_of_floats(std::span<const std::byte> values) {
  return census<std::uint32_t>(values, [](std::uint32_t bits, std::size_t) { return bits; });
}

ValueCensus census_of_halves(std::span<const std::byte> values) {
  return census<std::uint16_t>(values, [](std::uint16_t half, std::size_t) {
    return static_cast<std::uint32_t>(half) << 16;
  });
}

void fill_small(std::span<std::byte> bytes, std::uint64_t first) {
  fill_words(bytes, first, weight_of);
}

namespace {

/// Fills with `value` as fp32 whose lower half is a small normal number as bf16, too.
void fill_with(std::span<std::byte> bytes, float value) {
  constexpr std::uint32_t kSmallHalf = 0x3D00;
  const std::uint32_t bits = (std::bit_cast<std::uint32_t>(value) & 0xFFFF'0000) | kSmallHalf;
  for (std::size_t at = 0; at < bytes.size(); at += sizeof bits) {
    std::memcpy(bytes.data() + at, &bits, sizeof bits);
  }
}

/// Fills a record, or as much of it as is kept.
void fill_record(const planner::Job& job, std::span<std::byte> record) {
  // Only layers of attention read values that must not be random.
  const auto& kinds = job.model.kinds;
  const auto attention = std::ranges::find_if_not(kinds, planner::is_linear);
  const bool attends = attention != kinds.end();
  const planner::BlockRecord layout =
      planner::block_record(job, attends ? static_cast<std::size_t>(attention - kinds.begin()) : 0);
  const auto part = [&](Bytes offset, std::int64_t bytes) {
    const auto begin = std::min(static_cast<std::size_t>(offset.count()), record.size());
    return record.subspan(begin, std::min(static_cast<std::size_t>(bytes), record.size() - begin));
  };
  const auto one = [](std::uint64_t random) { return (random & kRandomBits) + kOne; };
  const std::int64_t tokens = job.micro_tokens();
  const std::int64_t stream = tokens * job.model.hidden * job.compute_element().count();
  fill_words(part(layout.x, stream), 0, one);
  fill_words(part(layout.residual, stream), 0, one);
  if (!attends) return;
  const auto scores = static_cast<float>(std::log(static_cast<double>(job.seq_len)) + 1);
  fill_with(part(layout.lse, 4 * tokens * job.model.heads), scores);
  if (job.model.head_norm == planner::HeadNorm::none) return;
  // Value for projections as small as the window's values are.
  constexpr float kReciprocalRms = 24;
  const bool whole = job.model.head_norm == planner::HeadNorm::full_width;
  fill_with(part(layout.q_rstd, 4 * tokens * (whole ? 1 : job.model.heads)), kReciprocalRms);
  fill_with(part(layout.k_rstd, 4 * tokens * (whole ? 1 : job.model.kv_heads)), kReciprocalRms);
}

void fill_records(const HostWindow& window, const planner::Job& job, std::span<std::byte> host) {
  const Bytes size = window.record_bytes();
  if (size == Bytes(0)) return;
  const planner::WindowPart& records = window.part(WindowUse::loaded_record);
  const auto count = static_cast<std::size_t>(records.bytes.count() / size.count());
  planner::parallel_for(count, std::thread::hardware_concurrency(), [&](std::size_t i) {
    const auto at = static_cast<std::size_t>(records.offset.count() +
                                             static_cast<std::int64_t>(i) * size.count());
    fill_record(job, host.subspan(at, static_cast<std::size_t>(size.count())));
  });
}

}  // namespace

void fill_window(const HostWindow& window, const planner::Job& job, std::span<std::byte> host) {
  over_pieces(window, [&](const planner::WindowPart& part, std::size_t begin, std::size_t bytes) {
    const auto at = static_cast<std::size_t>(part.offset.count()) + begin;
    fill_piece(part.use, window.gradient(), host.subspan(at, bytes), begin);
  });
  fill_records(window, job, host);
}

ValueCensus census_of_window(const HostWindow& window, std::span<const std::byte> host) {
  ValueCensus sum;
  std::mutex mutex;
  const Bytes low = window.part(WindowUse::low).offset;
  over_pieces(window, [&](const planner::WindowPart& part, std::size_t begin, std::size_t bytes) {
    const auto ahead = Bytes(static_cast<std::int64_t>(begin));
    const auto size = Bytes(static_cast<std::int64_t>(bytes));
    const std::span<const std::byte> piece = part_of(host, part.offset + ahead, size);
    ValueCensus found;
    switch (part.use) {
      case WindowUse::from_disk:
      case WindowUse::to_disk:
      case WindowUse::shared:
      case WindowUse::stored:
      case WindowUse::low:
        return;
      case WindowUse::loaded:
      case WindowUse::loaded_record:
        found = census_of_halves(piece);
        break;
      case WindowUse::high:
        found = census_of_masters(piece, part_of(host, low + ahead, size));
        break;
      case WindowUse::gradient:
        found = window.gradient() == GradientWire::bf16 ? census_of_halves(piece)
                                                        : census_of_floats(piece);
        break;
      case WindowUse::loaded_moment2:
      case WindowUse::moment1:
      case WindowUse::moment2:
        found = census_of_floats(piece);
        break;
    }
    const std::lock_guard lock(mutex);
    sum += found;
  });
  return sum;
}

ValueCensus census_of_gradients(const HostWindow& window, std::span<const std::byte> host) {
  const std::vector<planner::StoredGradient>& stored = window.stored_gradients();
  ValueCensus sum;
  std::mutex mutex;
  planner::parallel_for(stored.size(), std::thread::hardware_concurrency(), [&](std::size_t i) {
    const std::span<const std::byte> values = part_of(host, stored[i].offset, stored[i].bytes);
    const ValueCensus found = stored[i].element == GradientWire::bf16 ? census_of_halves(values)
                                                                      : census_of_floats(values);
    const std::lock_guard lock(mutex);
    sum += found;
  });
  return sum;
}

}  // namespace sluice::engine
