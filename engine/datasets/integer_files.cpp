#include "engine/datasets/integer_files.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace sluice::engine {

IntegerFiles::IntegerFiles(std::vector<IntegerFile> files) : files_(std::move(files)) {
  check(!files_.empty(), "there is a file of integers");
  std::int64_t all = 0;
  for (const IntegerFile& file : files_) {
    if (file.has_rows() != has_rows()) {
      throw BadRequest("data: " + files_.front().path().string() + " has " +
                       (has_rows() ? "rows" : "one row") + " of token ids and " +
                       file.path().string() + (has_rows() ? " is one row" : " has several") +
                       ": give files of one kind");
    }
    starts_.push_back(all);
    all += file.count();
  }
  starts_.push_back(all);
}

std::size_t IntegerFiles::file_of(std::int64_t index) const {
  const auto behind = std::ranges::upper_bound(starts_, index);
  const auto found = static_cast<std::size_t>(behind - starts_.begin()) - 1;
  return std::min(found, files_.size() - 1);
}

void IntegerFiles::read(std::int64_t first, std::span<std::int64_t> into) const {
  check(first >= 0 && first + std::ssize(into) <= count(), "values that are read are in the files");
  for (std::size_t file = file_of(first); !into.empty(); ++file) {
    const std::int64_t here = std::min(starts_[file + 1] - first, std::ssize(into));
    const auto size = static_cast<std::size_t>(here);
    files_[file].read(first - starts_[file], into.first(size));
    into = into.subspan(size);
    first += here;
  }
}

std::string IntegerFiles::place(std::int64_t index) const {
  const std::size_t file = file_of(index);
  return files_[file].place(index - starts_[file]);
}

std::string IntegerFiles::names() const {
  std::string first = files_.front().path().string();
  if (files_.size() == 1) return first;
  return first + " and " + std::to_string(files_.size() - 1) +
         (files_.size() == 2 ? " more file" : " more files");
}

}  // namespace sluice::engine
