#include "engine/model_files/safetensors_writer.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "engine/model_files/state_pieces.hpp"
#include "planner/effort/parallel_for.hpp"

namespace sluice::engine {
namespace {

using nlohmann::ordered_json;

struct OutFile {
  std::string name;
  std::vector<const OutTensor*> tensors;
  std::int64_t bytes = 0;
};

std::vector<OutFile> files_of(const StateFiles& wanted, const std::vector<OutTensor>& tensors) {
  std::vector<OutFile> files(1);
  for (const OutTensor& tensor : tensors) {
    if (files.back().bytes > 0 && files.back().bytes + tensor.bytes > wanted.most.count()) {
      files.emplace_back();
    }
    files.back().tensors.push_back(&tensor);
    files.back().bytes += tensor.bytes;
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

/// Length and header of a file.
std::string header_of(const OutFile& file) {
  ordered_json json;
  json["__metadata__"] = {{"format", "pt"}};  // transformers refuses files without it.
  std::int64_t begin = 0;
  for (const OutTensor* tensor : file.tensors) {
    json[tensor->name] = {{"dtype", tensor->dtype},
                          {"shape", tensor->shape},
                          {"data_offsets", {begin, begin + tensor->bytes}}};
    begin += tensor->bytes;
  }
  return safetensors_head(json.dump());
}

FileRecord write_file(const StateFiles& wanted, const OutFile& file, const StateSource& source,
                      const std::function<void(std::int64_t)>& progress, RoundingError& lost) {
  WrittenFile out(wanted.folder / file.name);
  out.append(header_of(file));
  for (const OutTensor* tensor : file.tensors) {
    lost += send(
        *tensor, wanted.part, source,
        [&out](std::span<const std::byte> bytes) { out.append(bytes); }, progress);
  }
  return out.finish();
}

FileRecord write_index(const StateFiles& wanted, const std::vector<OutFile>& files) {
  std::int64_t bytes = 0;
  ordered_json map = ordered_json::object();
  for (const OutFile& file : files) {
    bytes += file.bytes;
    for (const OutTensor* tensor : file.tensors) map[tensor->name] = file.name;
  }
  WrittenFile out(wanted.folder / (wanted.name + ".safetensors.index.json"));
  const ordered_json index = {{"metadata", {{"total_size", bytes}}}, {"weight_map", map}};
  out.append(index.dump(2) + "\n");
  return out.finish();
}

}  // namespace

std::string safetensors_head(std::string json) {
  json.resize((json.size() + 7) / 8 * 8, ' ');
  std::string length(8, '\0');
  for (std::size_t i = 0; i < length.size(); ++i) {
    length[i] = static_cast<char>(json.size() >> (8 * i) & 0xff);
  }
  return length + json;
}

WrittenTensors write_tensors(const StateFiles& files, const std::vector<OutTensor>& tensors,
                             const StateSource& source,
                             const std::function<void(std::int64_t)>& progress) {
  const std::vector<OutFile> planned = files_of(files, tensors);
  WrittenTensors written;
  written.files.resize(planned.size());
  std::vector<RoundingError> lost(planned.size());
  const std::int64_t most = state_threads();
  const std::int64_t threads = files.threads > 0 ? std::min(files.threads, most) : most;
  planner::parallel_for(planned.size(), threads, [&](std::size_t i) {
    written.files[i] = write_file(files, planned[i], source, progress, lost[i]);
  });
  for (const RoundingError& error : lost) written.mxfp4 += error;
  if (planned.size() > 1) written.files.push_back(write_index(files, planned));
  return written;
}

std::vector<FileRecord> write_state(const StateFiles& files, const planner::ModelShape& shape,
                                    const StateSource& source,
                                    const std::function<void(std::int64_t)>& progress) {
  std::vector<OutTensor> tensors;
  for (const PublishedTensor& tensor : tensors_in_memory(shape)) {
    const PublishedPart& part = tensor.parts.front();
    if (files.lacks != nullptr && files.lacks(shape, part.unit, part.tensor)) {
      if (progress) progress(part.tensor.size());
      continue;
    }
    tensors.push_back(numbers_out(tensor, files.type));
  }
  return write_tensors(files, tensors, source, progress).files;
}

}  // namespace sluice::engine
