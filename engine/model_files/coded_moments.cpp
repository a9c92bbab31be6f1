#include "engine/model_files/coded_moments.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "engine/model_files/state_pieces.hpp"
#include "engine/optimizer/moment_codes.hpp"
#include "engine/optimizer/moment_layout.hpp"
#include "planner/effort/parallel_for.hpp"
#include "planner/requests/phase_memory.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using nlohmann::ordered_json;
using planner::kMomentBlock;

const MomentMap& map_of(StatePart part) {
  return part == StatePart::m ? kFirstMomentMap : kSecondMomentMap;
}

std::string codes_name(std::size_t unit) { return "unit." + std::to_string(unit) + ".codes"; }
std::string scales_name(std::size_t unit) { return "unit." + std::to_string(unit) + ".scales"; }

std::int64_t blocks_of(std::int64_t elements) {
  return (elements + kMomentBlock - 1) / kMomentBlock;
}

std::int64_t bytes_of(std::int64_t elements) {
  return elements + kMomentScaleSize.bytes * blocks_of(elements);
}

/// Length and header of a file of these units.
std::string header_of(const planner::ModelShape& shape, std::size_t begin, std::size_t end) {
  ordered_json json;
  json["__metadata__"] = {{"format", "pt"}};
  std::int64_t at = 0;
  const auto add = [&](const std::string& name, const char* dtype, std::int64_t count,
                       std::int64_t size) {
    json[name] = {{"dtype", dtype}, {"shape", {count}}, {"data_offsets", {at, at + count * size}}};
    at += count * size;
  };
  // Scales first: they are wider, and vectors are no whole number of them.
  for (std::size_t unit = begin; unit < end; ++unit) {
    const std::int64_t padded = planner::unit_padded_size(shape, unit);
    add(scales_name(unit), "F32", blocks_of(padded), kMomentScaleSize.bytes);
    add(codes_name(unit), "U8", scales_behind(padded), 1);
  }
  return safetensors_head(json.dump());
}

/// Elements first to first + out.size() - 1 of the unit's vector; what no tensor covers is 0.
/// Returns the number of those that tensors cover.
std::int64_t read_unit(const StateSource& source, StatePart part,
                       const planner::UnitTensors& tensors, std::size_t unit, std::int64_t first,
                       std::span<float> out) {
  std::ranges::fill(out, 0.0F);
  const std::int64_t end = first + std::ssize(out);
  std::int64_t read = 0;
  for (const planner::TensorSpec& tensor : tensors.tensors) {
    const std::int64_t from = std::max(first, tensor.offset);
    const std::int64_t to = std::min(end, tensor.offset + tensor.size());
    if (from >= to) continue;
    read += to - from;
    source.read(
        part, unit, tensor, from - tensor.offset,
        out.subspan(static_cast<std::size_t>(from - first), static_cast<std::size_t>(to - from)));
  }
  return read;
}

/// Codes and scales of one unit, in memory.
struct CodedUnit {
  std::vector<std::byte> codes;
  std::vector<float> scales;
};

CodedUnit coded(const StateSource& source, StatePart part, const planner::ModelShape& shape,
                std::size_t unit, const std::function<void(std::int64_t)>& progress) {
  const std::int64_t padded = planner::unit_padded_size(shape, unit);
  CodedUnit done{.codes = std::vector<std::byte>(static_cast<std::size_t>(scales_behind(padded))),
                 .scales = std::vector<float>(static_cast<std::size_t>(blocks_of(padded)))};
  const planner::UnitTensors tensors = planner::unit_tensors(shape, unit);
  std::vector<float> values(static_cast<std::size_t>(std::min(planner::kStatePiece, padded)));
  for (std::int64_t first = 0; first < padded; first += planner::kStatePiece) {
    const auto count = static_cast<std::size_t>(std::min(planner::kStatePiece, padded - first));
    const std::span<float> piece = std::span(values).first(count);
    const std::int64_t read = read_unit(source, part, tensors, unit, first, piece);
    code_moments(part, piece, std::span(done.codes).subspan(static_cast<std::size_t>(first), count),
                 std::span(done.scales).subspan(static_cast<std::size_t>(first / kMomentBlock)));
    if (progress) progress(read);
  }
  return done;
}

}  // namespace

void code_moments(StatePart part, std::span<const float> values, std::span<std::byte> codes,
                  std::span<float> scales) {
  const MomentMap& map = map_of(part);
  for (std::size_t begin = 0; begin < values.size(); begin += kMomentBlock) {
    const std::span block =
        values.subspan(begin, std::min<std::size_t>(kMomentBlock, values.size() - begin));
    float largest = 0;
    for (const float value : block) {
      // A NaN stays the largest.
      if (!(std::fabs(value) <= largest) && !std::isnan(largest)) largest = std::fabs(value);
    }
    float& scale = scales[begin / kMomentBlock];
    scale = moment_scale(largest);
    const float inverse = inverse_scale(scale);
    for (std::size_t i = 0; i < block.size(); ++i) {
      const bool negative = part == StatePart::m && std::signbit(block[i]);
      const int code = moment_code(map, std::fabs(block[i]) * inverse);
      codes[begin + i] = static_cast<std::byte>(code | (negative ? 128 : 0));
    }
  }
}

void decode_moments(StatePart part, std::span<const std::byte> codes, std::span<const float> scales,
                    std::size_t skipped, std::span<float> out) {
  const MomentMap& map = map_of(part);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = map.value[std::to_integer<int>(codes[i])] * scales[(skipped + i) / kMomentBlock];
  }
}

std::vector<FileRecord> write_coded_moments(
    const StateFiles& files, const planner::ModelShape& shape, const StateSource& source,
    const std::function<void(std::int64_t elements)>& progress) {
  std::vector<std::size_t> begins = {0};
  std::int64_t bytes = 0;
  const std::size_t units = planner::unit_count(shape);
  for (std::size_t unit = 0; unit < units; ++unit) {
    const std::int64_t more = bytes_of(planner::unit_padded_size(shape, unit));
    if (bytes > 0 && bytes + more > files.most.count()) {
      begins.push_back(unit);
      bytes = 0;
    }
    bytes += more;
  }
  std::vector<FileRecord> written(begins.size());
  const std::int64_t most = state_threads();
  const std::int64_t threads = files.threads > 0 ? std::min(files.threads, most) : most;
  planner::parallel_for(begins.size(), threads, [&](std::size_t i) {
    char number[48] = "";
    if (begins.size() > 1) {
      std::snprintf(number, sizeof number, "-%05zu-of-%05zu", i + 1, begins.size());
    }
    const std::size_t end = i + 1 < begins.size() ? begins[i + 1] : units;
    WrittenFile file(files.folder / (files.name + number + ".safetensors"));
    file.append(header_of(shape, begins[i], end));
    for (std::size_t unit = begins[i]; unit < end; ++unit) {
      const CodedUnit one = coded(source, files.part, shape, unit, progress);
      file.append(std::as_bytes(std::span(one.scales)));
      file.append(one.codes);
    }
    written[i] = file.finish();
  });
  return written;
}

bool CodedMoments::are_in(const std::filesystem::path& file) {
  const SafetensorsFile read(file);
  const auto& tensors = read.header().tensors;
  return !tensors.empty() && tensors.begin()->first.starts_with("unit.");
}

CodedMoments::CodedMoments(StatePart part, const std::vector<std::filesystem::path>& files,
                           const planner::ModelShape& shape)
    : part_(part) {
  for (const std::filesystem::path& file : files) {
    files_.push_back(std::make_unique<SafetensorsFile>(file));
  }
  for (std::size_t unit = 0; unit < planner::unit_count(shape); ++unit) {
    Unit& one = units_.emplace_back();
    for (const auto& file : files_) {
      const TensorEntry* codes = file->find(codes_name(unit));
      const TensorEntry* scales = file->find(scales_name(unit));
      if (codes == nullptr || scales == nullptr) continue;
      one = {.file = file.get(), .codes = file->bytes(*codes), .scales = file->bytes(*scales)};
    }
    const std::int64_t padded = planner::unit_padded_size(shape, unit);
    const auto size = [](std::int64_t bytes) { return static_cast<std::size_t>(bytes); };
    if (one.file == nullptr || one.codes.size() != size(scales_behind(padded)) ||
        one.scales.size() != size(kMomentScaleSize.of(padded))) {
      throw BadRequest(files.at(0).parent_path().string() + ": unit " + std::to_string(unit) +
                       " has no codes and scales of moments, or those of another model");
    }
  }
}

void CodedMoments::read(std::size_t unit, std::int64_t first, std::span<float> out) const {
  const Unit& one = units_.at(unit);
  const auto at = static_cast<std::size_t>(first);
  const std::span<const std::byte> codes = one.codes.subspan(at, out.size());
  const std::size_t block = at / kMomentBlock;
  std::vector<float> scales((at + out.size() - 1) / kMomentBlock - block + 1);
  const auto stored = one.scales.subspan(block * sizeof(float), scales.size() * sizeof(float));
  std::memcpy(scales.data(), stored.data(), stored.size());
  decode_moments(part_, codes, scales, at % kMomentBlock, out);
  one.file->file().release(codes);
}

}  // namespace sluice::engine
