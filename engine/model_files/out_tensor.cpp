#include "engine/model_files/out_tensor.hpp"

#include <algorithm>
#include <numeric>

#include "planner/requests/phase_memory.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

std::int64_t elements_of(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

/// Number of a tensor's numbers in MXFP4 or an element type.
std::int64_t numbers_of(const OutTensor& tensor) {
  std::int64_t sum = 0;
  for (const PublishedPart& part : tensor.parts) sum += part.tensor.size();
  return sum;
}

/// Fills `values` with numbers first .. of the tensor, from the parts that lie there.
void gather(const OutTensor& tensor, StatePart part, const StateSource& source, std::int64_t first,
            std::span<float> values) {
  const std::int64_t last = first + std::ssize(values);
  for (const PublishedPart& each : tensor.parts) {
    const MemorySizes sizes = memory_sizes(each.tensor);
    const std::int64_t begin = each.map.position(0, 0);
    const std::int64_t end = each.map.position(sizes.rows - 1, sizes.cols - 1) + 1;
    if (end <= first || begin >= last) continue;
    gather_mapped(
        [&](std::int64_t from, std::span<float> out) {
          source.read(part, each.unit, each.tensor, from, out);
        },
        each.map, sizes, first, values);
  }
}

void encode_numbers(const OutTensor& tensor, std::span<const float> values, std::int64_t first,
                    std::vector<std::byte>& bytes) {
  bytes.resize(values.size() * size_of(tensor.type));
  if (const auto lost = encode(tensor.type, values, bytes.data())) {
    throw BadRequest("--dtype: " + std::string(to_string(tensor.type)) + " cannot hold " +
                     std::to_string(values[*lost]) + ", element " +
                     std::to_string(first + static_cast<std::int64_t>(*lost)) + " of tensor " +
                     tensor.name + ": choose fp32");
  }
}

}  // namespace

OutTensor numbers_out(const PublishedTensor& tensor, ElementType type) {
  return {.name = tensor.name,
          .dtype = safetensors_name(type),
          .shape = tensor.shape,
          .bytes = elements_of(tensor.shape) * static_cast<std::int64_t>(size_of(type)),
          .content = OutContent::numbers,
          .type = type,
          .parts = tensor.parts};
}

std::vector<OutTensor> mxfp4_out(const PublishedTensor& tensor) {
  if (tensor.shape.back() % kMxfp4Block != 0) {
    throw BadRequest("--dtype: mxfp4 needs rows of whole blocks of " + std::to_string(kMxfp4Block) +
                     ", and tensor " + tensor.name + " has rows of " +
                     std::to_string(tensor.shape.back()) + ": choose bf16");
  }
  OutTensor scales{.name = tensor.name + "_scales",
                   .dtype = "U8",
                   .shape = tensor.shape,
                   .content = OutContent::mxfp4_scales,
                   .parts = tensor.parts};
  scales.shape.back() /= kMxfp4Block;
  scales.bytes = elements_of(scales.shape);
  OutTensor blocks = scales;
  blocks.name = tensor.name + "_blocks";
  blocks.shape.push_back(kMxfp4Bytes);
  blocks.bytes = elements_of(blocks.shape);
  blocks.content = OutContent::mxfp4_blocks;
  return {blocks, scales};
}

OutTensor copy_out(const StoredTensor& stored) {
  return {.name = stored.name,
          .dtype = stored.entry->dtype,
          .shape = stored.entry->shape,
          .bytes = static_cast<std::int64_t>(stored.entry->end - stored.entry->begin),
          .content = OutContent::copy,
          .copied = stored};
}

RoundingError send(const OutTensor& tensor, StatePart part, const StateSource& source,
                   const ByteSink& sink, const std::function<void(std::int64_t)>& progress) {
  RoundingError lost;
  if (tensor.content == OutContent::copy) {
    for_each_piece(tensor.copied, sink);
    return lost;
  }
  const std::int64_t all = numbers_of(tensor);
  std::vector<float> values;
  std::vector<std::byte> bytes, scales;
  for (std::int64_t first = 0; first < all; first += planner::kStatePiece) {
    values.resize(static_cast<std::size_t>(std::min(planner::kStatePiece, all - first)));
    gather(tensor, part, source, first, values);
    if (tensor.content == OutContent::numbers) {
      encode_numbers(tensor, values, first, bytes);
      sink(bytes);
    } else {
      bytes.resize(values.size() / 2);
      scales.resize(values.size() / kMxfp4Block);
      const RoundingError error = encode_mxfp4(values, bytes.data(), scales.data());
      if (tensor.content == OutContent::mxfp4_scales) {
        sink(scales);
        continue;
      }
      lost += error;
      sink(bytes);
    }
    if (progress) progress(std::ssize(values));
  }
  return lost;
}

}  // namespace sluice::engine
