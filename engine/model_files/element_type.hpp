// The types that weights have in files, and how numbers pass between them and fp32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace sluice::engine {

/// Types that can be loaded and written.
enum class ElementType { bf16, fp16, fp32 };

[[nodiscard]] std::size_t size_of(ElementType type);           ///< Bytes of an element.
[[nodiscard]] const char* safetensors_name(ElementType type);  ///< "BF16", "F16", "F32".
[[nodiscard]] const char* torch_name(ElementType type);  ///< "bfloat16", "float16", "float32".
[[nodiscard]] const char* to_string(ElementType type);   ///< "bf16", "fp16", "fp32".

/// The value of an IEEE binary16, exactly.
[[nodiscard]] float fp16_to_float(std::uint16_t bits);
/// Nearest IEEE binary16, ties to even; what is too large becomes infinite. NaN stays NaN.
[[nodiscard]] std::uint16_t float_to_fp16(float value);

/// `elements` values at `source` (any alignment) into `out`, exactly.
void decode(ElementType type, const std::byte* source, std::span<float> out);
/// Rounds to nearest, ties to even, into `out` of size_of(type) * values.size() bytes. Returns the
/// index of the first finite value that `type` cannot hold, if any.
[[nodiscard]] std::optional<std::size_t> encode(ElementType type, std::span<const float> values,
                                                std::byte* out);
/// Index of the first value that is infinite or not a number.
[[nodiscard]] std::optional<std::size_t> first_not_finite(std::span<const float> values);

}  // namespace sluice::engine
