#include "engine/datasets/integer_file.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "engine/datasets/npy_header.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

/// The type that NumPy calls `name`, without its first letter for the order of bytes.
std::optional<IntegerType> type_called(std::string_view name) {
  using Type = IntegerType;
  constexpr std::pair<std::string_view, Type> kTypes[] = {
      {"b1", Type::uint8},  {"i1", Type::int8},   {"u1", Type::uint8},
      {"i2", Type::int16},  {"u2", Type::uint16}, {"i4", Type::int32},
      {"u4", Type::uint32}, {"i8", Type::int64},  {"u8", Type::uint64}};
  for (const auto& [known, type] : kTypes) {
    if (name == known) return type;
  }
  return std::nullopt;
}

IntegerType type_of(const NpyHeader& header, const std::string& where) {
  const std::string_view type = header.type;
  if (type == "|O" || type == "O") {
    throw BadRequest(where +
                     ": holds Python objects, as for rows of unequal lengths: pad the rows with -1 "
                     "and save an array of integers");
  }
  const auto found = type_called(type.substr(std::min<std::size_t>(1, type.size())));
  if (!found) {
    throw BadRequest(where + ": holds values of type \"" + header.type +
                     "\", and token ids are integers: save it with .astype(\"int32\")");
  }
  if (type.front() == '>') {
    throw BadRequest(where + ": its values are big-endian: save it with .astype(\"<" +
                     header.type.substr(1) + "\")");
  }
  return *found;
}

template <class T>
void copy_as(const std::byte* from, std::span<std::int64_t> into) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t& value : into) {
    T each;
    std::memcpy(&each, from, sizeof each);
    value = std::in_range<std::int64_t>(each) ? static_cast<std::int64_t>(each) : kMost;
    from += sizeof each;
  }
}

}  // namespace

const char* to_string(IntegerType type) {
  constexpr const char* kNames[] = {"int8",  "uint8",  "int16", "uint16",
                                    "int32", "uint32", "int64", "uint64"};
  return kNames[static_cast<std::size_t>(type)];
}

std::int64_t bytes_of(IntegerType type) {
  return std::int64_t{1} << (static_cast<std::int64_t>(type) / 2);
}

IntegerFile::IntegerFile(std::unique_ptr<MappedFile> file, IntegerType type)
    : file_(std::move(file)), type_(type) {}

IntegerFile IntegerFile::npy(const std::filesystem::path& path) {
  const std::string where = "data: " + path.string();
  auto mapped = std::make_unique<MappedFile>(path);
  const NpyHeader header = read_npy_header(mapped->bytes(), where);
  IntegerFile file(std::move(mapped), type_of(header, where));
  file.layout_ = "npy";
  file.holds_booleans_ = header.type.ends_with("b1");
  if (header.shape.empty() || header.shape.size() > 2) {
    throw BadRequest(where + ": has " + std::to_string(header.shape.size()) +
                     " dimensions: give one row of token ids, or one for each document");
  }
  file.has_rows_ = header.shape.size() == 2;
  if (header.fortran_order && file.has_rows_) {
    throw BadRequest(where +
                     ": lies in Fortran's order, column by column: save "
                     "numpy.ascontiguousarray(array)");
  }
  file.rows_ = file.all_rows_ = file.has_rows_ ? header.shape.front() : 1;
  file.columns_ = header.shape.back();
  file.offset_ = header.bytes;
  const std::int64_t room = std::ssize(file.file_->bytes()) - header.bytes;
  const std::int64_t whole = room / bytes_of(file.type_);
  if (file.columns_ > 0 && file.rows_ > 0 &&
      (file.rows_ > whole / file.columns_ || file.columns_ > whole)) {
    throw BadRequest(where + ": holds " + std::to_string(whole) +
                     " values, fewer than its shape has: the file is cut short");
  }
  return file;
}

IntegerFile IntegerFile::raw(const std::filesystem::path& path, IntegerType type,
                             std::int64_t header) {
  IntegerFile file(std::make_unique<MappedFile>(path), type);
  file.layout_ = header > 0 ? std::string("llm.c ") + to_string(type) : to_string(type);
  file.offset_ = header;
  const std::int64_t size = std::ssize(file.file_->bytes()) - header;
  if (size % bytes_of(type) != 0) {
    throw BadRequest("data: " + path.string() + ": " + std::to_string(size) +
                     " bytes are no whole number of values of " + to_string(type) +
                     ": state data_dtype");
  }
  file.columns_ = size / bytes_of(type);
  return file;
}

void IntegerFile::read(std::int64_t first, std::span<std::int64_t> into) const {
  check(first >= 0 && first + std::ssize(into) <= count(), "values that are read are in the file");
  const std::byte* from = file_->bytes().data() + offset_ + first * bytes_of(type_);
  switch (type_) {
    case IntegerType::int8:
      return copy_as<std::int8_t>(from, into);
    case IntegerType::uint8:
      return copy_as<std::uint8_t>(from, into);
    case IntegerType::int16:
      return copy_as<std::int16_t>(from, into);
    case IntegerType::uint16:
      return copy_as<std::uint16_t>(from, into);
    case IntegerType::int32:
      return copy_as<std::int32_t>(from, into);
    case IntegerType::uint32:
      return copy_as<std::uint32_t>(from, into);
    case IntegerType::int64:
      return copy_as<std::int64_t>(from, into);
    case IntegerType::uint64:
      return copy_as<std::uint64_t>(from, into);
  }
}

std::string IntegerFile::place(std::int64_t index) const {
  if (!has_rows_) return path().string() + ": token " + std::to_string(index);
  return path().string() + ": row " + std::to_string(index / columns_) + ", column " +
         std::to_string(index % columns_);
}

}  // namespace sluice::engine
