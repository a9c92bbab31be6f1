#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "engine/rows/csv_rows.hpp"
#include "engine/rows/data_files.hpp"
#include "engine/rows/json_row.hpp"
#include "engine/rows/json_rows.hpp"
#include "engine/rows/text_window.hpp"
#include "sim/error.hpp"
#include "tests/engine/rows/slow_text.hpp"

namespace sluice::engine::test {
namespace {

/// "f:LINE VALUE" of each row, and "f:LINE REASON" of what is none.
std::vector<std::string> rows_of(const std::string& text,
                                 const std::function<void(TextWindow&, const RowVisitor&)>& read,
                                 std::size_t at_once = 3) {
  std::vector<std::string> found;
  const RowVisitor visitor{.row =
                               [&](Row& row) {
                                 found.push_back(row.where + " " + json_text(*row.object));
                                 return Reading::goes_on;
                               },
                           .bad =
                               [&](const std::string& where, const std::string& reason) {
                                 found.push_back(where + " bad: " + reason);
                                 return Reading::goes_on;
                               }};
  SlowText stream(text, at_once);
  TextWindow window(stream, "f");
  try {
    read(window, visitor);
  } catch (const BadRequest& error) {
    found.push_back(std::string("refused: ") + error.what());
  }
  return found;
}

using Found = std::vector<std::string>;

Found json_rows_of(const std::string& text) { return rows_of(text, read_json_rows); }

Found csv_rows_of(const std::string& text) {
  return rows_of(text, [](TextWindow& window, const RowVisitor& visitor) {
    read_csv_rows(window, false, visitor);
  });
}

TEST(JsonRows, LinesAndItemsOfAListAreRowsWithTheLineTheyBeginAt) {
  EXPECT_EQ(json_rows_of("{\"x\":1}\n\n  \r\n{\"x\":\"]}\\\"\"}"),
            (Found{"f:1 {\"x\":1}", "f:4 {\"x\":\"]}\\\"\"}"}));
  EXPECT_EQ(json_rows_of("\xef\xbb\xbf [\n{\"x\":[1,\n2]},\n\n{\"x\":\"}\\\\\"} ]\n"),
            (Found{"f:2 {\"x\":[1,2]}", "f:5 {\"x\":\"}\\\\\"}"}));
  EXPECT_TRUE(json_rows_of("").empty());
  EXPECT_TRUE(json_rows_of(" [ ] ").empty());
}

TEST(JsonRows, ItemsOfTheOneListOfAnObjectAreRowsUnlessTheListIsARows) {
  EXPECT_EQ(json_rows_of("{\"v\":[1],\"data\":[{\"x\":1},\n{\"x\":2}],\"n\":{\"y\":[]}}"),
            (Found{"f:1 {\"x\":1}", "f:2 {\"x\":2}"}));
  EXPECT_EQ(json_rows_of("{\"messages\":[{\"role\":\"user\"}]}"),
            (Found{"f:1 {\"messages\":[{\"role\":\"user\"}]}"}));
  EXPECT_EQ(json_rows_of("{\n\"x\":1}\n{\n\"x\":2}"), (Found{"f:1 {\"x\":1}", "f:3 {\"x\":2}"}));
  EXPECT_EQ(json_rows_of("{\"a\":[{}],\"b\":[{}]}").back().substr(0, 37),
            "refused: f:1: holds two lists of rows");
}

TEST(JsonRows, AFirstLineLongerThanWhatIsLookedAtIsARowAmongLines) {
  const std::string first =
      "{\"a\":[{}],\"x\":\"" + std::string(std::size_t{17} << 20, 'y') + "\"}";
  const Found found = rows_of(first + "\n{\"x\":2}\n7\n", read_json_rows, std::size_t{1} << 20);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_TRUE(found[0].starts_with("f:1 {\"a\":[{}],\"x\":\"yyy"));
  EXPECT_EQ(found[1], "f:2 {\"x\":2}");
  EXPECT_EQ(found[2], "f:3 bad: an example must be an object { ... }");
}

TEST(JsonRows, ItemsBehindTheFirstOfALineAreToldApartByTheirNumber) {
  EXPECT_EQ(json_rows_of("[{\"x\":1}, 2, {\"x\":3},\n{\"x\":4}]"),
            (Found{"f:1 {\"x\":1}", "f:1:row 2 bad: an example must be an object { ... }",
                   "f:1:row 3 {\"x\":3}", "f:2 {\"x\":4}"}));
}

TEST(JsonRows, ABrokenLineIsOneBadRow) {
  EXPECT_EQ(json_rows_of("{\"x\":1\n{\"x\":2}\n{\"x\":3}"),
            (Found{"f:1 bad: is not JSON (at byte 7)", "f:2 {\"x\":2}", "f:3 {\"x\":3}"}));
  EXPECT_EQ(json_rows_of("{\"x\":2}\n7\n[{}]\n").size(), 3U);
}

TEST(JsonRows, AListThatIsNotWholeIsRefusedWhereItBreaks) {
  EXPECT_EQ(json_rows_of("[{},\n{}\n{}]").back(),
            "refused: f:3: after an example there must be a comma, or the list's end");
  EXPECT_EQ(json_rows_of("[{}").back(), "refused: f:1: the list of rows is not closed");
  EXPECT_EQ(json_rows_of("[\n{\"x\":\"}").back(), "refused: f:2: the example is not closed");
}

/// The text that a value reads as, or its fault.
std::string read_value(const std::string& text) {
  const JsonRow row = read_json_row(text);
  if (!row.fault.empty()) return row.fault;
  return all_finite(*row.value) ? json_text(*row.value) : "not finite";
}

TEST(JsonRow, IsReadAsPythonReadsIt) {
  EXPECT_EQ(read_value(R"({"a":1,"b":2,"a":3})"), R"({"a":3,"b":2})");
  EXPECT_EQ(read_value(R"([18446744073709551615,-9223372036854775808,123456789012345678901234])"),
            "[18446744073709551615,-9223372036854775808,123456789012345678901234]");
  EXPECT_EQ(read_value(R"([1.5,1e300,-0.0])"), "[1.5,1e+300,-0.0]");
  EXPECT_EQ(read_value(R"({"a":NaN})"), "not finite");
  EXPECT_EQ(read_value(R"([-Infinity,1e999])"), "not finite");
  EXPECT_EQ(read_value(R"(["NaN","\\ud800"])"), R"(["NaN","\\ud800"])");
  EXPECT_EQ(read_value(R"("\ud83d\ude00")"), "\"\xF0\x9F\x98\x80\"");
  EXPECT_EQ(read_value(R"("a\ud83d")"), "\"a\xEF\xBF\xBD\"");
  EXPECT_EQ(read_json_row(R"(["\udc00\ud800", "\ud83d\ude00"])").replaced_surrogates, 2);
}

TEST(JsonRow, ARepeatedKeyAmongManyKeepsItsLastValueAtItsFirstPlace) {
  std::string text = "{\"k\":0";
  for (int i = 0; i < 40; ++i) text += ",\"x" + std::to_string(i) + "\":" + std::to_string(i);
  const JsonRow row = read_json_row(text + ",\"k\":7,\"x3\":8}");
  ASSERT_TRUE(row.fault.empty());
  EXPECT_EQ(row.value->size(), 41U);
  EXPECT_EQ(row.value->begin().key(), "k");
  EXPECT_EQ((*row.value)["k"], 7);
  EXPECT_EQ((*row.value)["x3"], 8);
  EXPECT_EQ((*row.value)["x4"], 4);
}

TEST(JsonRow, FaultsSayWhatToWrite) {
  EXPECT_EQ(read_value("{\"a\":\"x\ty\"}"), "has a raw tab within a text: write it as \\t");
  EXPECT_EQ(read_value("{'a': 1}"),
            "is Python's text of a dictionary, not JSON: write it with json.dumps");
  EXPECT_EQ(read_value("\"\xff\""), "is not UTF-8 (at byte 2)");
  EXPECT_EQ(read_value(std::string(200, '[') + std::string(200, ']')),
            "nests deeper than 128 levels");
}

TEST(CsvRows, FollowRfc4180) {
  EXPECT_EQ(csv_rows_of("a,b\r\n1,\"x, \"\"y\"\"\r\nz\"\r\n\r\n,\n\"q\",3"),
            (Found{"f:2 {\"a\":\"1\",\"b\":\"x, \\\"y\\\"\\u000d\\u000az\"}",
                   "f:5 {\"a\":\"\",\"b\":\"\"}", "f:6 {\"a\":\"q\",\"b\":\"3\"}"}));
  EXPECT_EQ(csv_rows_of("text\na;b\n"), (Found{"f:2 {\"text\":\"a;b\"}"}));
  EXPECT_EQ(csv_rows_of("a;b\n1,5;2\n"), (Found{"f:2 {\"a\":\"1,5\",\"b\":\"2\"}"}));
  EXPECT_EQ(csv_rows_of("a,b\n1,2,3\n"), (Found{"f:2 bad: has 3 fields, and the header 2"}));
  EXPECT_EQ(csv_rows_of("a\n\"x").back(),
            "refused: f:2: a quote is never closed: the rest of the file would be one field");
  EXPECT_EQ(csv_rows_of("a,a\n").back(), "refused: f:1: the header names the column \"a\" twice");
}

TEST(CsvRows, ALineThatStatesTheSeparatorIsNoHeader) {
  EXPECT_EQ(csv_rows_of("sep=;\r\na;b\r\n1,5;2\r\n"), (Found{"f:3 {\"a\":\"1,5\",\"b\":\"2\"}"}));
  EXPECT_EQ(csv_rows_of("sep=,\na,b\n1,2\n"), (Found{"f:3 {\"a\":\"1\",\"b\":\"2\"}"}));
  EXPECT_EQ(csv_rows_of("sep=\nx\n"), (Found{"f:2 {\"sep=\":\"x\"}"}));
}

TEST(DataFiles, DigitsInNamesAreNumbers) {
  EXPECT_TRUE(comes_before("part2", "part10"));
  EXPECT_TRUE(comes_before("a-00009", "a-00010"));
  EXPECT_FALSE(comes_before("b1", "a2"));
  EXPECT_TRUE(comes_before("a", "a1"));
  EXPECT_FALSE(comes_before("a1", "a1"));
}

}  // namespace
}  // namespace sluice::engine::test
