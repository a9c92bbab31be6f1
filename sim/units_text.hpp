// Quantities as people write them ("24 GiB", "55.5 GB/s", "5 us", "989 TFLOP/s"): parsing and
// formatting.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/units.hpp"

namespace sluice::planner {

/// Parsers of quantities. Each throws BadRequest naming `field`, what is wrong with `text` and how
/// to write it. A number without a unit is refused ("hbm: 24 has no unit: write for example \"24
/// GiB\""), and so are negative and non-finite numbers. A space before the unit is optional. Units
/// are B, KB .. TB (powers of 1000), KiB .. TiB (powers of 1024), with "/s" for a rate; times are
/// s, ms, us, ns, min, h; FLOP/s takes an optional prefix K .. P.
[[nodiscard]] Bytes parse_bytes(std::string_view text, std::string_view field);
[[nodiscard]] BytesPerSecond parse_bytes_per_second(std::string_view text, std::string_view field);
[[nodiscard]] FlopsPerSecond parse_flops_per_second(std::string_view text, std::string_view field);
[[nodiscard]] Seconds parse_seconds(std::string_view text, std::string_view field);
/// Parses a pure number; "5.7 G" and "5.7e9" are equal, with prefixes K, M, G and T (powers of
/// 1000).
[[nodiscard]] double parse_number(std::string_view text, std::string_view field);
[[nodiscard]] double parse_per_second(std::string_view text, std::string_view field);
[[nodiscard]] std::int64_t parse_count(std::string_view text, std::string_view field);

/// Texts for people, with three significant digits: "23.9 GiB", "55.4 GB/s", "12.3 ms", "690
/// TFLOP/s", "7.62 G".
[[nodiscard]] std::string format_bytes(Bytes bytes);
[[nodiscard]] std::string format_rate(BytesPerSecond rate);
[[nodiscard]] std::string format_rate(FlopsPerSecond rate);
[[nodiscard]] std::string format_seconds(Seconds time);
[[nodiscard]] std::string format_amount(double number);

/// Text of `bytes` from which parse_bytes() gives the same number: "24 GiB", "1000 B".
[[nodiscard]] std::string format_exact(Bytes bytes);

}  // namespace sluice::planner
