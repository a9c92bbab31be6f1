// Element types of weights in files, and their conversion to and from fp32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace sluice::engine {

/// Element types that can be loaded and written.
enum class ElementType { bf16, fp16, fp32 };

[[nodiscard]] std::size_t size_of(ElementType type);  ///< Size of an element in bytes.
/// Name of the type in safetensors: "BF16", "F16", "F32".
[[nodiscard]] const char* safetensors_name(ElementType type);
/// Name of the type in PyTorch: "bfloat16", "float16", "float32".
[[nodiscard]] const char* torch_name(ElementType type);
/// Name of the type in messages: "bf16", "fp16", "fp32".
[[nodiscard]] const char* to_string(ElementType type);

/// Converts an IEEE binary16 to fp32, exactly.
[[nodiscard]] float fp16_to_float(std::uint16_t bits);
/// Rounds to the nearest IEEE binary16, ties to even. Values beyond its range become infinite; NaN
/// stays NaN.
[[nodiscard]] std::uint16_t float_to_fp16(float value);

/// Converts out.size() elements at `source` (any alignment) to fp32, exactly.
void decode(ElementType type, const std::byte* source, std::span<float> out);
/// Rounds `values` to `type`, to nearest with ties to even, into `out`, which has size_of(type) *
/// values.size() bytes. Returns the index of the first finite value outside the type's range, if
/// any.
[[nodiscard]] std::optional<std::size_t> encode(ElementType type, std::span<const float> values,
                                                std::byte* out);
/// Index of the first value that is infinite or NaN, if any.
[[nodiscard]] std::optional<std::size_t> first_not_finite(std::span<const float> values);

}  // namespace sluice::engine
