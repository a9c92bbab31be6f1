// Rows: JSON and CSV files, and what each row means in every format.
#include <nlohmann/json.hpp>

#include "engine/examples/example.hpp"
#include "engine/rows/csv_rows.hpp"
#include "engine/rows/file_form.hpp"
#include "engine/rows/json_rows.hpp"
#include "engine/rows/text_window.hpp"
#include "tests/engine/rows/slow_text.hpp"
#include "tests/fuzz/fuzzed.hpp"

namespace {

using namespace sluice;

void read_every_way(const engine::Json& row) {
  using planner::DataFormat;
  const auto guessed = engine::guessed_format(row);
  if (!guessed) check(!engine::advice_on_fields(row).empty(), "fields are named");
  for (const DataFormat kind : {DataFormat::jsonl, DataFormat::alpaca, DataFormat::sharegpt,
                                DataFormat::messages, DataFormat::prompt_completion}) {
    const auto format = engine::settled_format(engine::example_format(kind), row, true);
    const auto read = engine::read_example(row, format);
    if (const auto* bad = std::get_if<engine::BadExample>(&read)) {
      check(!bad->reason.empty(), "a bad row says why");
      continue;
    }
    const auto& example = std::get<engine::Example>(read);
    const auto* conversation = std::get_if<engine::Conversation>(&example);
    if (conversation == nullptr) continue;
    for (const engine::ChatMessage& each : conversation->messages) {
      check(nlohmann::json::accept(each.fields), "fields are JSON");
    }
    check(nlohmann::json::accept(conversation->variables), "variables are JSON");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text = fuzz::text_of(data + 1, size - 1);
  const engine::RowVisitor visitor{.row =
                                       [](engine::Row& row) {
                                         read_every_way(*row.object);
                                         return engine::Reading::goes_on;
                                       },
                                   .bad =
                                       [](const std::string&, const std::string& reason) {
                                         check(!reason.empty(), "a bad row says why");
                                         return engine::Reading::goes_on;
                                       }};
  fuzz::may_refuse([&] { (void)engine::form_of(text, true, ".txt", "f"); });
  fuzz::may_refuse([&] {
    engine::test::SlowText stream(text, 61);
    engine::TextWindow window(stream, "f");
    if (data[0] % 2 == 0) {
      engine::read_json_rows(window, visitor);
    } else {
      engine::read_csv_rows(window, data[0] % 4 == 3, visitor);
    }
  });
  return 0;
}
