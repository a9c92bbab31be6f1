#include "engine/model_files/element_type.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include "engine/optimizer/master_weights.hpp"

namespace sluice::engine {
namespace {

constexpr std::uint32_t kMagnitude = 0x7fffffffu;
constexpr std::uint32_t kInfinite = 0x7f800000u;

bool finite(float value) { return (std::bit_cast<std::uint32_t>(value) & kMagnitude) < kInfinite; }

template <float (*Value)(std::uint16_t)>
void decode_halves(const std::byte* source, std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, source + 2 * i, sizeof bits);
    out[i] = Value(bits);
  }
}

template <std::uint16_t (*Round)(float), std::uint16_t Infinity>
std::optional<std::size_t> encode_halves(std::span<const float> values, std::byte* out) {
  std::optional<std::size_t> lost;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t bits = Round(values[i]);
    std::memcpy(out + 2 * i, &bits, sizeof bits);
    if (!lost && (bits & 0x7fffu) == Infinity && finite(values[i])) lost = i;
  }
  return lost;
}

}  // namespace

std::size_t size_of(ElementType type) { return type == ElementType::fp32 ? 4 : 2; }

const char* safetensors_name(ElementType type) {
  switch (type) {
    case ElementType::bf16:
      return "BF16";
    case ElementType::fp16:
      return "F16";
    case ElementType::fp32:
      return "F32";
  }
  return "";
}

const char* torch_name(ElementType type) {
  switch (type) {
    case ElementType::bf16:
      return "bfloat16";
    case ElementType::fp16:
      return "float16";
    case ElementType::fp32:
      return "float32";
  }
  return "";
}

const char* to_string(ElementType type) {
  switch (type) {
    case ElementType::bf16:
      return "bf16";
    case ElementType::fp16:
      return "fp16";
    case ElementType::fp32:
      return "fp32";
  }
  return "";
}

float fp16_to_float(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu;
  const std::uint32_t fraction = bits & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | kInfinite | fraction << 13);
  if (exponent == 0) {  // Zero or subnormal: a multiple of 2^-24.
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

std::uint16_t float_to_fp16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & kMagnitude;
  if (magnitude > kInfinite) {
    return static_cast<std::uint16_t>(sign | 0x7e00u | (magnitude >> 13 & 0x3ffu));
  }
  // 65520 and above round to 2^16, which is infinite here.
  if (magnitude >= std::bit_cast<std::uint32_t>(65520.0F)) return sign | 0x7c00u;
  if (magnitude < std::bit_cast<std::uint32_t>(0x1p-14F)) {
    // Subnormal: the sum with 2^-1, whose last place is 2^-24, rounds it as wanted.
    const float sum = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(sum) - 0x3f000000u));
  }
  const std::uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
  return static_cast<std::uint16_t>(sign | (rounded - (112u << 23)) >> 13);
}

void decode(ElementType type, const std::byte* source, std::span<float> out) {
  switch (type) {
    case ElementType::bf16:
      return decode_halves<bf16_to_float>(source, out);
    case ElementType::fp16:
      return decode_halves<fp16_to_float>(source, out);
    case ElementType::fp32:
      std::memcpy(out.data(), source, out.size_bytes());
  }
}

std::optional<std::size_t> encode(ElementType type, std::span<const float> values, std::byte* out) {
  switch (type) {
    case ElementType::bf16:
      return encode_halves<float_to_bf16, 0x7f80>(values, out);
    case ElementType::fp16:
      return encode_halves<float_to_fp16, 0x7c00>(values, out);
    case ElementType::fp32:
      std::memcpy(out, values.data(), values.size_bytes());
  }
  return std::nullopt;
}

std::optional<std::size_t> first_not_finite(std::span<const float> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!finite(values[i])) return i;
  }
  return std::nullopt;
}

}  // namespace sluice::engine
