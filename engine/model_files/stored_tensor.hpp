// A tensor as a file holds it: plain numbers, or quantised ones with the scales that belong to
// them.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/model_files/safetensors.hpp"
#include "sim/units.hpp"

namespace sluice::engine {

/// How a tensor's numbers are stored.
enum class Encoding {
  plain,
  mxfp4,      ///< NAME_blocks and NAME_scales (engine/model_files/mxfp4.hpp).
  block_fp8,  ///< NAME in E4M3 and NAME_scale_inv (engine/model_files/block_fp8.hpp).
};
/// Name of the encoding in messages; `type` is the dtype of plain numbers.
[[nodiscard]] std::string encoding_text(Encoding encoding, const TensorEntry& entry);

/// Rows and columns of a block that shares a factor.
struct BlockSize {
  std::int64_t rows = 128, cols = 128;
};

/// A tensor of one file, or of two where its scales lie in another. The files must outlive it.
struct StoredTensor {
  std::string name;  ///< Name in the file, without the suffix of blocks.
  const SafetensorsFile* file = nullptr;
  const TensorEntry* entry = nullptr;
  Encoding encoding = Encoding::plain;
  std::vector<std::int64_t> shape;  ///< Shape of the numbers that are stored.
  const SafetensorsFile* scale_file = nullptr;
  const TensorEntry* scales = nullptr;  ///< Null for plain numbers.
  BlockSize block{};                    ///< Block of Encoding::block_fp8.

  [[nodiscard]] std::int64_t elements() const;
  [[nodiscard]] Bytes bytes() const;  ///< Size in the files, scales included.
  /// Decodes numbers first .. first + out.size() - 1 in storage order, exactly but for the product
  /// with an FP8 block's factor, which is rounded to fp32. Pages leave memory as they were read.
  /// Plain numbers must be of a type that can be loaded.
  void decode(std::int64_t first, std::span<float> out) const;
};
using StoredTensors = std::map<std::string, StoredTensor>;

/// Passes the bytes of a tensor of plain numbers to `sink` in order, a few MiB at a time. Pages
/// leave memory once `sink` returns.
void for_each_piece(const StoredTensor& stored,
                    const std::function<void(std::span<const std::byte> piece)>& sink);

/// A tensor of plain numbers.
[[nodiscard]] StoredTensor plain_tensor(const std::string& name, const SafetensorsFile& file,
                                        const TensorEntry& entry);

/// Joins quantised numbers among `tensors` with their scales: NAME_blocks [..., n, 16] with
/// NAME_scales [..., n] become NAME [..., 32 n]; NAME in E4M3 takes NAME_scale_inv, which has a
/// factor for every block of the last two dimensions, or one for all. Scales of activations
/// (NAME.activation_scale) are dropped. Throws BadRequest `model: FILE: tensor NAME: ...` for a
/// partner that is missing or does not fit.
void join_scales(StoredTensors& tensors, const BlockSize& block);

}  // namespace sluice::engine
