// Quantities as people write them ("24 GiB", "55.5 GB/s", "5 us", "989 TFLOP/s"), both ways.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/units.hpp"

namespace sluice::planner {

/// Each throws BadRequest naming `field`, what is wrong with `text` and how to write it. A number
/// without a unit is refused: "hbm: 24 has no unit: write for example \"24 GiB\"". Negative and
/// non-finite numbers are refused. A space before the unit is optional; units are B, KB .. TB
/// (powers of 1000) and KiB .. TiB (powers of 1024); "/s" makes a rate; times are s, ms, us, ns,
/// min, h; FLOP/s with an optional prefix K .. P.
[[nodiscard]] Bytes parse_bytes(std::string_view text, std::string_view field);
[[nodiscard]] BytesPerSecond parse_bytes_per_second(std::string_view text, std::string_view field);
[[nodiscard]] FlopsPerSecond parse_flops_per_second(std::string_view text, std::string_view field);
[[nodiscard]] Seconds parse_seconds(std::string_view text, std::string_view field);
/// A pure number; with an optional prefix K, M, G, T for rates of things ("5.7 G/s" and "5.7e9/s"
/// are parameters per second).
[[nodiscard]] double parse_number(std::string_view text, std::string_view field);
[[nodiscard]] double parse_per_second(std::string_view text, std::string_view field);
[[nodiscard]] std::int64_t parse_count(std::string_view text, std::string_view field);

/// For people: three significant digits, "23.9 GiB", "55.4 GB/s", "12.3 ms", "690 TFLOP/s",
/// "7.62 G".
[[nodiscard]] std::string format_bytes(Bytes bytes);
[[nodiscard]] std::string format_rate(BytesPerSecond rate);
[[nodiscard]] std::string format_rate(FlopsPerSecond rate);
[[nodiscard]] std::string format_seconds(Seconds time);
[[nodiscard]] std::string format_amount(double number);

/// Exact: reads back to the same bytes ("24 GiB", "1000 B").
[[nodiscard]] std::string format_exact(Bytes bytes);

}  // namespace sluice::planner
