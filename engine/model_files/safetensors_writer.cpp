#include "engine/model_files/safetensors_writer.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/model_files/state_pieces.hpp"
#include "planner/effort/parallel_for.hpp"
#include "planner/requests/phase_memory.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using nlohmann::ordered_json;

struct OutTensor {
  std::size_t unit;
  planner::TensorSpec spec;
  std::int64_t begin, end;  ///< Range of bytes within its file's data.
};

struct OutFile {
  std::string name;
  std::vector<OutTensor> tensors;
  [[nodiscard]] std::int64_t bytes() const { return tensors.empty() ? 0 : tensors.back().end; }
};

std::vector<OutFile> files_of(const StateFiles& wanted, const planner::ModelShape& shape) {
  const auto element = static_cast<std::int64_t>(size_of(wanted.type));
  std::vector<OutFile> files(1);
  for (std::size_t unit = 0; unit < planner::unit_count(shape); ++unit) {
    for (const planner::TensorSpec& tensor : planner::unit_tensors(shape, unit).tensors) {
      const std::int64_t bytes = tensor.size() * element;
      if (files.back().bytes() > 0 && files.back().bytes() + bytes > wanted.most.count()) {
        files.emplace_back();
      }
      const std::int64_t begin = files.back().bytes();
      files.back().tensors.push_back({unit, tensor, begin, begin + bytes});
    }
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    char number[48] = "";
    if (files.size() > 1) {
      std::snprintf(number, sizeof number, "-%05zu-of-%05zu", i + 1, files.size());
    }
    files[i].name = wanted.name + number + ".safetensors";
  }
  return files;
}

/// Length and header of a file, padded with spaces so that data begin at a multiple of eight bytes.
std::string header_of(const OutFile& file, ElementType type) {
  ordered_json json;
  json["__metadata__"] = {{"format", "pt"}};  // transformers refuses files without it.
  for (const OutTensor& tensor : file.tensors) {
    std::vector<std::int64_t> sizes = {tensor.spec.cols};
    if (tensor.spec.decays) sizes.insert(sizes.begin(), tensor.spec.rows);
    json[tensor.spec.name] = {{"dtype", safetensors_name(type)},
                              {"shape", sizes},
                              {"data_offsets", {tensor.begin, tensor.end}}};
  }
  std::string text = json.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string length(8, '\0');
  for (std::size_t i = 0; i < length.size(); ++i) {
    length[i] = static_cast<char>(text.size() >> (8 * i) & 0xff);
  }
  return length + text;
}

FileRecord write_file(const StateFiles& wanted, const OutFile& file, const StateSource& source,
                      const std::function<void(std::int64_t)>& progress) {
  WrittenFile out(wanted.folder / file.name);
  out.append(header_of(file, wanted.type));
  std::vector<float> values;
  std::vector<std::byte> bytes;
  for (const OutTensor& tensor : file.tensors) {
    for (std::int64_t first = 0; first < tensor.spec.size(); first += planner::kStatePiece) {
      values.resize(
          static_cast<std::size_t>(std::min(planner::kStatePiece, tensor.spec.size() - first)));
      bytes.resize(values.size() * size_of(wanted.type));
      source.read(wanted.part, tensor.unit, tensor.spec, first, values);
      if (const auto lost = encode(wanted.type, values, bytes.data())) {
        throw BadRequest("--dtype: " + std::string(to_string(wanted.type)) + " cannot hold " +
                         std::to_string(values[*lost]) + ", element " +
                         std::to_string(first + static_cast<std::int64_t>(*lost)) + " of tensor " +
                         tensor.spec.name + ": choose fp32");
      }
      out.append(bytes);
      if (progress) progress(std::ssize(values));
    }
  }
  return out.finish();
}

FileRecord write_index(const StateFiles& wanted, const std::vector<OutFile>& files) {
  std::int64_t bytes = 0;
  ordered_json map = ordered_json::object();
  for (const OutFile& file : files) {
    bytes += file.bytes();
    for (const OutTensor& tensor : file.tensors) map[tensor.spec.name] = file.name;
  }
  WrittenFile out(wanted.folder / (wanted.name + ".safetensors.index.json"));
  const ordered_json index = {{"metadata", {{"total_size", bytes}}}, {"weight_map", map}};
  out.append(index.dump(2) + "\n");
  return out.finish();
}

}  // namespace

std::vector<FileRecord> write_state(const StateFiles& files, const planner::ModelShape& shape,
                                    const StateSource& source,
                                    const std::function<void(std::int64_t)>& progress) {
  const std::vector<OutFile> planned = files_of(files, shape);
  std::vector<FileRecord> records(planned.size());
  const std::int64_t most = state_threads();
  const std::int64_t threads = files.threads > 0 ? std::min(files.threads, most) : most;
  planner::parallel_for(planned.size(), threads, [&](std::size_t i) {
    records[i] = write_file(files, planned[i], source, progress);
  });
  if (planned.size() > 1) records.push_back(write_index(files, planned));
  return records;
}

}  // namespace sluice::engine
