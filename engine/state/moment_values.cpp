#include "engine/state/moment_values.hpp"

#include <algorithm>

#include "engine/model_files/coded_moments.hpp"
#include "engine/optimizer/master_weights.hpp"

namespace sluice::engine {
namespace {

using planner::kMomentBlock;
using planner::StateType;

Plane plane_of(StatePart part) { return part == StatePart::m ? Plane::m : Plane::v; }
Plane scales_of(StatePart part) { return part == StatePart::m ? Plane::m_scales : Plane::v_scales; }

void read_codes(StatePart part, std::int64_t first, std::span<float> out, const ReadBytes& read) {
  const std::int64_t block = first / kMomentBlock;
  const std::int64_t last = (first + std::ssize(out) - 1) / kMomentBlock;
  std::vector<float> scales(static_cast<std::size_t>(last - block + 1));
  read(scales_of(part), kMomentScaleSize.bytes * block, std::as_writable_bytes(std::span(scales)));
  std::vector<std::byte> codes(out.size());
  read(plane_of(part), first, codes);
  decode_moments(part, codes, scales, static_cast<std::size_t>(first % kMomentBlock), out);
}

void write_codes(StatePart part, std::int64_t first, std::span<const float> values,
                 const WriteBytes& write) {
  std::vector<std::byte> codes(values.size());
  std::vector<float> scales((values.size() + kMomentBlock - 1) / kMomentBlock);
  code_moments(part, values, codes, scales);
  write(plane_of(part), first, codes);
  write(scales_of(part), kMomentScaleSize.before(first), std::as_bytes(std::span(scales)));
}

}  // namespace

void read_moments(StateType type, StatePart part, std::int64_t first, std::span<float> out,
                  const ReadBytes& read) {
  if (type == StateType::int8) return read_codes(part, first, out, read);
  const std::int64_t at = moment_code_size(type).before(first);
  if (type == StateType::fp32) return read(plane_of(part), at, std::as_writable_bytes(out));
  std::vector<std::uint16_t> halves(out.size());
  read(plane_of(part), at, std::as_writable_bytes(std::span(halves)));
  std::ranges::transform(halves, out.begin(), bf16_to_float);
}

void write_moments(StateType type, StatePart part, std::int64_t first,
                   std::span<const float> values, const WriteBytes& write) {
  if (type == StateType::int8) return write_codes(part, first, values, write);
  const std::int64_t at = moment_code_size(type).before(first);
  if (type == StateType::fp32) return write(plane_of(part), at, std::as_bytes(values));
  std::vector<std::uint16_t> halves(values.size());
  std::ranges::transform(values, halves.begin(), float_to_bf16);
  write(plane_of(part), at, std::as_bytes(std::span(halves)));
}

}  // namespace sluice::engine
