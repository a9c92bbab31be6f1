// The reader of JSON texts: what it takes, what it refuses, and how many steps that costs.
#include "sim/json_reader.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "sim/json_object.hpp"
#include "sim/json_tree.hpp"
#include "tests/sim/system.hpp"

namespace sluice::sim {
namespace {

JsonFault fault_in(std::string_view text, const JsonRules& rules = {}) {
  const auto read = read_json(text, rules);
  if (const auto* fault = std::get_if<JsonFault>(&read)) return *fault;
  ADD_FAILURE() << "read without a fault: " << text.substr(0, 80);
  return {};
}

std::string repeated(const std::string& part, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += part;
  return text;
}

TEST(JsonReader, GivesEachValueWithItsKindInFileOrder) {
  const JsonDocument document =
      parse_json(R"({"b": [1, -2, 3.0, "four", true, null, {}], "a": {"x": []}, "c": 7})", "f");
  const JsonValue root = document.root();
  ASSERT_TRUE(root.is_object());
  ASSERT_EQ(root.size(), 3U);
  std::string keys;
  for (const JsonValue member : root) keys += member.key();
  EXPECT_EQ(keys, "bac");
  std::vector<JsonKind> kinds;
  const JsonValue list = *root.find("b");
  for (const JsonValue item : list) kinds.push_back(item.kind());
  EXPECT_EQ(kinds,
            (std::vector{JsonKind::natural, JsonKind::integer, JsonKind::real, JsonKind::text,
                         JsonKind::boolean, JsonKind::null, JsonKind::object}));
  EXPECT_EQ((*list.begin()).key(), "");
  EXPECT_EQ((*++list.begin()).integer(), -2);
  EXPECT_EQ(root.find("c")->number(), 7.0);
  EXPECT_TRUE(root.find("a")->contains("x"));
  EXPECT_FALSE(root.contains("x"));
  EXPECT_FALSE(list.contains("b"));
}

/// Both numbers of one test: what the library's own tree holds and what the document's copy holds.
class SameAsTheLibrary : public testing::TestWithParam<const char*> {};

TEST_P(SameAsTheLibrary, ReadsEveryValue) {
  const std::string text = GetParam();
  const JsonDocument document = parse_json(text, "f");
  const Json library = Json::parse(text);
  EXPECT_EQ(json_tree(document.root()), library);
  EXPECT_EQ(json_tree(document.root()).dump(), library.dump());
  EXPECT_EQ(JsonTreeBuilder<nlohmann::json>::build(document.root()).dump(),
            nlohmann::json::parse(text).dump());
}

INSTANTIATE_TEST_SUITE_P(
    Texts, SameAsTheLibrary,
    testing::Values("0", "-0", "-0.0", "[18446744073709551615, 18446744073709551616]",
                    "[-9223372036854775808, -9223372036854775809]", "[0.1, 1e308, 5e-324, 1e-400]",
                    "[1E+2, 123456789012345678901234567890]", R"("\u00e9\ud834\udd1e\n\"\\\/")",
                    "\"\xc3\xa9\"", "\xef\xbb\xbf[1]", "[]", "{}", "[[], {}, [{}], null, \"\"]",
                    R"({"z": {"a": {"z": 1}, "b": [true, false]}, "a": [{"z": 1}, {"z": 2}]})",
                    R"({"": 1, "a": {"": 2}})"));

TEST(JsonReader, RefusesANameGivenTwiceInOneObject) {
  const auto name = [](std::string_view text) {
    const JsonFault fault = fault_in(text);
    EXPECT_EQ(fault.kind, JsonFault::Kind::repeated_key) << text;
    return fault.detail;
  };
  EXPECT_EQ(name(R"({"a": 1, "a": 2})"), "a");
  EXPECT_EQ(name(R"({"a": {"a": 1, "b": 2}, "a": 2})"), "a");
  EXPECT_EQ(name(R"([{"a": [{"b": 1}, {"b": 1, "c": {"b": 2}, "b": 3}]}])"), "b");
  EXPECT_EQ(name(R"({"x": 1, "a": 1, "a": 2, "x": 3})"), "a");
  EXPECT_EQ(name(R"({"a": 1, "\u0061": 2})"), "a");
  EXPECT_EQ(name(R"({"": 1, "": 2})"), "");
}

TEST(JsonReader, TakesANameAgainInAnotherObject) {
  const JsonDocument document = parse_json(
      R"({"a": {"a": {"a": 1}}, "b": [{"a": 1}, {"a": 2}], "c": {"b": 0, "a": 3}})", "f");
  EXPECT_EQ(document.root().find("c")->find("a")->number(), 3);
}

TEST(JsonReader, ReportsTheFirstFaultOrTheOneThatIsNoJson) {
  const std::string_view text = R"({"a": 1, "a": 2, oops})";
  EXPECT_EQ(fault_in(text).kind, JsonFault::Kind::syntax);
  EXPECT_EQ(fault_in(text, {.repeated_key = RepeatedKey::at_once}).kind,
            JsonFault::Kind::repeated_key);
}

TEST(JsonReader, RefusesValuesInsideMoreLevelsThanAllowed) {
  const JsonRules two{.most_levels = 2};
  EXPECT_TRUE(std::holds_alternative<JsonDocument>(read_json("[[1]]", two)));
  EXPECT_TRUE(std::holds_alternative<JsonDocument>(read_json("[[[]]]", two)));
  EXPECT_EQ(fault_in("[[[1]]]", two).kind, JsonFault::Kind::depth);
  EXPECT_EQ(fault_in(R"([[{"a": 1}]])", two).kind, JsonFault::Kind::depth);
  EXPECT_EQ(fault_in("[[[[", two).kind, JsonFault::Kind::depth);
}

TEST(JsonReader, SaysWhereATextStopsToBeJson) {
  EXPECT_EQ(fault_in("[1, 2,, 3]").byte, 7U);
  EXPECT_EQ(refusal([] { (void)parse_json("{\"a\": 1,\n \"b\" 2}", "f.json"); }),
            "f.json: line 2, column 6: syntax error while parsing object separator - unexpected "
            "number literal; expected ':'");
  EXPECT_EQ(refusal([] { (void)parse_json("", "f.json"); }),
            "f.json: line 1, column 1: syntax error while parsing value - unexpected end of input; "
            "expected '[', '{', or a literal");
  EXPECT_EQ(refusal([] { (void)parse_json("[1] 2", "f.json"); }),
            "f.json: line 1, column 5: syntax error while parsing value - unexpected number "
            "literal; expected end of input");
  EXPECT_EQ(refusal([] { (void)parse_json(R"({"a": 1, "a": 2})", "f.json"); }),
            "f.json: key \"a\" is given twice in one object; keep one");
}

TEST(JsonReader, KeepsNumbersThatAreNoDoubleForTheFieldToRefuse) {
  EXPECT_EQ(fault_in("[1e999]").kind, JsonFault::Kind::number_beyond_double);
  const JsonDocument document =
      parse_json(R"({"a": 1e999, "b": [NaN], "c": 2, "d": -Infinity})", "f");
  const JsonObject object(document, "f");
  EXPECT_EQ(object.number("c"), 2);
  EXPECT_EQ(refusal([&] { (void)object.number("a"); }), "f: a: must be a finite number, not 1e999");
  EXPECT_EQ(refusal([&] { (void)object.numbers("b"); }),
            "f: b: must be a list of finite numbers, but holds NaN");
  EXPECT_EQ(refusal([&] { (void)object.object("d"); }),
            "f: d: must be an object {...}, not -Infinity");
}

TEST(JsonReader, ReadsAndCopiesAnyDepth) {
  constexpr std::size_t kDeep = 300000;
  const JsonDocument document = parse_json(repeated("[", kDeep) + repeated("]", kDeep), "f");
  EXPECT_EQ(document.value_count(), kDeep);
  EXPECT_TRUE(json_tree(document.root()).is_array());
  const std::string named = repeated(R"({"a":)", kDeep) + "1" + repeated("}", kDeep);
  EXPECT_LE(parse_json(named, "f").reading_steps(), 3 * kDeep);
}

/// Tasks as a graph file lists them, every name of an object among those that others gave.
std::string listed_tasks(std::size_t tasks) {
  std::string text = R"({"tasks": [)";
  for (std::size_t i = 0; i < tasks; ++i) {
    text += (i == 0 ? "" : ", ") + (R"({"id": "t)" + std::to_string(i)) +
            R"(", "lane": "a", "after": ["t0"], "amount": 5, "uses": {"bus": 1, "id": 2}})";
  }
  return text + "]}";
}

TEST(JsonReader, TakesStepsInProportionToTheValues) {
  const JsonDocument few = parse_json(listed_tasks(1000), "f");
  const JsonDocument many = parse_json(listed_tasks(64000), "f");
  // Nine values a task, seven of them named; each is written, and each name looked at once more.
  EXPECT_EQ(few.value_count(), 2 + 9 * 1000U);
  EXPECT_EQ(many.value_count(), 2 + 9 * 64000U);
  EXPECT_EQ(few.reading_steps(), few.value_count() + 1 + 7 * 1000U);
  EXPECT_EQ(many.reading_steps(), many.value_count() + 1 + 7 * 64000U);
}

TEST(JsonReader, TakesStepsInProportionToTheMembersOfOneObject) {
  std::string text = "{";
  constexpr std::size_t kMembers = 200000;
  for (std::size_t i = 0; i < kMembers; ++i) {
    text += (i == 0 ? "\"m" : ", \"m") + std::to_string(i) + "\": " + std::to_string(i);
  }
  const JsonDocument document = parse_json(text + "}", "f");
  EXPECT_EQ(document.reading_steps(), 1 + 2 * kMembers);
  const Json tree = json_tree(document.root());
  EXPECT_EQ(tree.size(), kMembers);
  EXPECT_EQ(tree.back(), kMembers - 1);
}

TEST(JsonObjects, AreAllObjectsBeforeOneIsRead) {
  const JsonDocument document = parse_json(R"({"l": [{"a": 1}, {"a": 2}], "m": [{}, 3]})", "f");
  const JsonObject object(document, "f");
  std::string where;
  for (const JsonObject& item : object.objects("l")) where += item.where() + ";";
  EXPECT_EQ(where, "f: l[0];f: l[1];");
  EXPECT_EQ(refusal([&] { (void)object.objects("m"); }), "f: m[1]: must be an object {...}, not 3");
  EXPECT_EQ(JsonObjects().size(), 0U);
  for (const JsonObject& item : JsonObjects()) ADD_FAILURE() << item.where();
}

}  // namespace
}  // namespace sluice::sim
