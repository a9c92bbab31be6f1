#include "engine/datasets/plain_text_file.hpp"

#include <vector>

#include "engine/model_files/written_file.hpp"
#include "engine/rows/byte_stream.hpp"
#include "planner/files/hash.hpp"

namespace sluice::engine {

std::filesystem::path plain_text_file(const DataFiles& files, const std::filesystem::path& cache) {
  const bool alone = files.files.size() == 1;
  if (alone && packed_form(files.files.front()) == Packed::no) return files.files.front();
  planner::CanonicalText all("sluice/text");
  for (const auto& file : files.files) all.add("file", read_record(file).sha256);
  std::filesystem::path made = cache / (all.hash() + ".text");
  if (std::filesystem::exists(made)) return made;
  FileInWriting out(made);
  std::vector<char> buffer(std::size_t{1} << 20);
  char last = '\n';
  for (const auto& file : files.files) {
    if (last != '\n') out.append(std::as_bytes(std::span("\n", 1)));
    const auto stream = open_byte_stream(file);
    while (const std::size_t got = stream->read(buffer)) {
      out.append(std::as_bytes(std::span(buffer).first(got)));
      last = buffer[got - 1];
    }
  }
  out.commit();
  return made;
}

}  // namespace sluice::engine
