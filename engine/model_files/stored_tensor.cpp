#include "engine/model_files/stored_tensor.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "engine/model_files/block_fp8.hpp"
#include "engine/model_files/mxfp4.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

constexpr std::string_view kBlocks = "_blocks", kScales = "_scales", kFactors = "_scale_inv",
                           kActivations = ".activation_scale";

[[noreturn]] void refuse_stored(const StoredTensor& tensor, const std::string& name,
                                const std::string& reason) {
  throw BadRequest("model: " + tensor.file->path().string() + ": tensor " + name + ": " + reason);
}

std::string without(const std::string& name, std::string_view end) {
  return name.substr(0, name.size() - end.size());
}

/// NAME_blocks and NAME_scales as one tensor NAME.
StoredTensor mxfp4_tensor(const std::string& name, const StoredTensor& blocks,
                          const StoredTensor& scales) {
  const std::string full = name + std::string(kBlocks);
  if (blocks.entry->dtype != "U8" || scales.entry->dtype != "U8") {
    refuse_stored(blocks, full, "MXFP4 needs U8 for blocks and scales");
  }
  std::vector<std::int64_t> shape = blocks.shape;
  if (shape.size() < 2 || shape.back() != kMxfp4Bytes) {
    refuse_stored(blocks, full,
                  "has shape " + shape_text(shape) + ", and MXFP4 has 16 bytes a block");
  }
  shape.pop_back();
  constexpr std::int64_t kMostBlocks = std::int64_t{1} << 48;
  if (shape.back() > kMostBlocks) refuse_stored(blocks, full, "has more blocks than any file");
  if (scales.shape != shape) {
    refuse_stored(
        scales, name + std::string(kScales),
        "has shape " + shape_text(scales.shape) + ", and the blocks make it " + shape_text(shape));
  }
  shape.back() *= kMxfp4Block;
  return {.name = without(blocks.name, kBlocks),
          .file = blocks.file,
          .entry = blocks.entry,
          .encoding = Encoding::mxfp4,
          .shape = std::move(shape),
          .scale_file = scales.file,
          .scales = scales.entry};
}

std::optional<FactorType> factor_type(const std::string& dtype) {
  if (dtype == "F32") return FactorType::fp32;
  if (dtype == "BF16") return FactorType::bf16;
  if (dtype == "F8_E8M0") return FactorType::e8m0;
  return std::nullopt;
}

std::int64_t rows_of(const StoredTensor& tensor) {
  return tensor.shape.size() < 2 ? 1 : tensor.shape[tensor.shape.size() - 2];
}

/// `tensor`, whose numbers are E4M3, with its factors.
StoredTensor fp8_tensor(const std::string& name, const StoredTensor& tensor,
                        const StoredTensor& factors, const BlockSize& block) {
  const std::string full = name + std::string(kFactors);
  if (!factor_type(factors.entry->dtype)) {
    refuse_stored(factors, full, "dtype " + factors.entry->dtype + ": give F32, BF16 or F8_E8M0");
  }
  StoredTensor joined = tensor;
  joined.encoding = Encoding::block_fp8;
  joined.scale_file = factors.file;
  joined.scales = factors.entry;
  joined.block = block;
  if (tensor.shape.empty()) refuse_stored(tensor, name, "is one FP8 number");
  const bool one = factors.elements() == 1 && factors.shape.size() < tensor.shape.size();
  if (one && tensor.shape.size() <= 2) {
    joined.block = {rows_of(tensor), tensor.shape.back()};
    return joined;
  }
  std::vector<std::int64_t> wanted = tensor.shape;
  wanted.back() = (wanted.back() + block.cols - 1) / block.cols;
  if (wanted.size() >= 2) {
    std::int64_t& rows = wanted[wanted.size() - 2];
    rows = (rows + block.rows - 1) / block.rows;
  }
  if (factors.shape != wanted) {
    refuse_stored(factors, full,
                  "has shape " + shape_text(factors.shape) + ", and blocks of " +
                      std::to_string(block.rows) + " x " + std::to_string(block.cols) +
                      " make it " + shape_text(wanted));
  }
  return joined;
}

void join_mxfp4(StoredTensors& tensors) {
  StoredTensors joined;
  for (const auto& [name, tensor] : tensors) {
    if (name.ends_with(kScales) && tensor.entry->dtype == "U8") {
      const std::string base = without(name, kScales);
      if (!tensors.contains(base + std::string(kBlocks))) {
        refuse_stored(tensor, name, "is of MXFP4, and " + base + "_blocks is missing");
      }
    }
    if (!name.ends_with(kBlocks)) continue;
    const std::string base = without(name, kBlocks);
    const auto scales = tensors.find(base + std::string(kScales));
    if (scales == tensors.end()) {
      refuse_stored(tensor, name, "is of MXFP4, and " + base + "_scales is missing");
    }
    if (tensors.contains(base)) refuse_stored(tensor, name, "is in the files without MXFP4 too");
    joined.emplace(base, mxfp4_tensor(base, tensor, scales->second));
  }
  for (const auto& [name, tensor] : joined) {
    tensors.erase(name + std::string(kBlocks));
    tensors.erase(name + std::string(kScales));
    tensors.emplace(name, tensor);
  }
}

void join_fp8(StoredTensors& tensors, const BlockSize& block) {
  std::vector<std::string> spent;
  for (auto& [name, tensor] : tensors) {
    if (name.ends_with(kActivations)) spent.push_back(name);
    if (name.ends_with(kFactors) && !tensors.contains(without(name, kFactors))) {
      refuse_stored(tensor, name, "is of FP8, and " + without(name, kFactors) + " is missing");
    }
    if (tensor.entry->dtype != "F8_E4M3") continue;
    const auto factors = tensors.find(name + std::string(kFactors));
    if (factors == tensors.end()) {
      refuse_stored(tensor, name,
                    "dtype F8_E4M3 is a quantised format, and " + name + std::string(kFactors) +
                        " is missing: give BF16, F16 or F32, or FP8 with factors of blocks");
    }
    tensor = fp8_tensor(name, tensor, factors->second, block);
    spent.push_back(factors->first);
  }
  for (const std::string& name : spent) tensors.erase(name);
}

}  // namespace

std::string encoding_text(Encoding encoding, const TensorEntry& entry) {
  switch (encoding) {
    case Encoding::plain:
      return entry.type ? to_string(*entry.type) : entry.dtype;
    case Encoding::mxfp4:
      return "MXFP4";
    case Encoding::block_fp8:
      return "FP8";
  }
  return "";
}

std::int64_t StoredTensor::elements() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

Bytes StoredTensor::bytes() const {
  std::size_t sum = entry->end - entry->begin;
  if (scales != nullptr) sum += scales->end - scales->begin;
  return Bytes(static_cast<std::int64_t>(sum));
}

void StoredTensor::decode(std::int64_t first, std::span<float> out) const {
  const auto all = file->bytes(*entry);
  const auto release = [&](std::int64_t begin, std::int64_t end) {
    file->file().release(
        all.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
  };
  const std::int64_t last = first + std::ssize(out);
  switch (encoding) {
    case Encoding::plain: {
      check(entry->type.has_value(), "plain numbers are of a type that can be loaded");
      const auto size = static_cast<std::int64_t>(size_of(*entry->type));
      engine::decode(*entry->type, all.data() + first * size, out);
      return release(first * size, last * size);
    }
    case Encoding::mxfp4:
      decode_mxfp4(all.data(), scale_file->bytes(*scales).data(), first, out);
      return release(first / 2, (last + 1) / 2);
    case Encoding::block_fp8:
      decode_block_fp8({.values = all.data(),
                        .factors = scale_file->bytes(*scales).data(),
                        .type = *factor_type(scales->dtype),
                        .rows = rows_of(*this),
                        .cols = shape.back(),
                        .block_rows = block.rows,
                        .block_cols = block.cols},
                       first, out);
      return release(first, last);
  }
}

void for_each_piece(const StoredTensor& stored,
                    const std::function<void(std::span<const std::byte>)>& sink) {
  check(stored.encoding == Encoding::plain, "other numbers have their bytes in two tensors");
  const auto all = stored.file->bytes(*stored.entry);
  constexpr std::size_t kPiece = std::size_t{4} << 20;
  for (std::size_t first = 0; first < all.size(); first += kPiece) {
    const auto piece = all.subspan(first, std::min(kPiece, all.size() - first));
    sink(piece);
    stored.file->file().release(piece);
  }
}

StoredTensor plain_tensor(const std::string& name, const SafetensorsFile& file,
                          const TensorEntry& entry) {
  return {.name = name, .file = &file, .entry = &entry, .shape = entry.shape};
}

void join_scales(StoredTensors& tensors, const BlockSize& block) {
  join_mxfp4(tensors);
  join_fp8(tensors, block);
}

}  // namespace sluice::engine
