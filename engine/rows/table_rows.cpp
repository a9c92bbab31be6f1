#include "engine/rows/table_rows.hpp"

#include <chrono>
#include <nlohmann/json.hpp>

#include "engine/python/python_child.hpp"
#include "sim/error.hpp"
#include "sim/warning.hpp"

namespace sluice::engine {
namespace {

/// A row group may be gigabytes, and pyarrow's allocators reserve more addresses than they use.
constexpr Bytes kAddressSpace(64LL << 30);
constexpr std::chrono::minutes kLongestWait(10);

PythonScript table_script() {
  return {.purpose = "parquet and Arrow files",
          .text = kTableRows,
          .modules = {{.name = "pyarrow", .apt_package = "", .pip_package = "pyarrow"}}};
}

}  // namespace

void read_table_rows(const std::filesystem::path& file, FileForm form, const RowVisitor& visitor) {
  PythonChild child(table_script(), {.memory = kAddressSpace});
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(file));
  const std::string path = std::filesystem::absolute(file).string();
  const Json request{{"path", path},
                     {"form", form == FileForm::parquet ? "parquet" : "arrow"},
                     {"nulls", visitor.keeps_nulls}};
  std::int64_t number = 0;
  const auto visit = [&](std::string_view line) {
    using Replies = PythonChild::Replies;
    JsonRow read = read_json_row(line);
    if (!read.fault.empty() || !read.value->is_object() || read.value->size() != 1) {
      child.refuse_reply(line);
    }
    auto& [kind, value] = read.value->get_ref<Json::object_t&>().front();
    if (kind == "rows") return Replies::complete;
    if (kind == "error") {
      throw BadRequest("data: " + file.string() + ": pyarrow cannot read it: " +
                       (value.is_string() ? value.get<std::string>() : std::string()));
    }
    ++number;
    if (!value.is_object()) child.refuse_reply(line);
    Row row{.object = std::make_unique<Json>(std::move(value)),
            .where = file.string() + ":row " + std::to_string(number),
            .replaced_surrogates = read.replaced_surrogates};
    return visitor.row(row) == Reading::stops ? Replies::complete : Replies::go_on;
  };
  const std::string line = json_text(request);
  child.exchange(std::span(&line, 1), visit, kLongestWait);
  // Who only looks at the first rows asks for no progress: it is told once.
  if (const std::string said = child.said(); visitor.progress && !said.empty()) {
    sim::note("data: " + file.string() + ": pyarrow says: " + said);
  }
  if (visitor.progress) visitor.progress(size);
}

}  // namespace sluice::engine
