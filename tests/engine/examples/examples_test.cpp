#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "engine/examples/dataset_info.hpp"
#include "engine/examples/example.hpp"
#include "sim/error.hpp"
#include "tests/engine/scratch_folder.hpp"

namespace sluice::engine::test {
namespace {

using planner::DataFormat;

/// The conversation as "role(content)" of each turn, "!" before those that are not learnt; or the
/// reason why there is none.
std::string written(const std::string& row, const ExampleFormat& format) {
  const auto read = read_example(*read_json_row(row).value, format);
  if (const auto* bad = std::get_if<BadExample>(&read)) {
    return (bad->of_file ? "file: " : "row: ") + bad->reason;
  }
  const auto& example = std::get<Example>(read);
  if (const auto* text = std::get_if<std::string>(&example)) return *text;
  std::string out;
  for (const ChatMessage& each : std::get<Conversation>(example).messages) {
    const auto fields = nlohmann::json::parse(each.fields);
    out += (each.learnt ? "" : "!") + fields["role"].get<std::string>() + "(" +
           (fields["content"].is_null() ? "null" : fields["content"].get<std::string>()) + ")";
  }
  return out;
}

std::string written(const std::string& row, DataFormat kind) {
  return written(row, example_format(kind));
}

Conversation conversation_of(const std::string& row, DataFormat kind) {
  const auto read = read_example(*read_json_row(row).value, example_format(kind));
  return std::get<Conversation>(std::get<Example>(read));
}

TEST(Example, AlpacaIsASystemMessageTheHistoryAndTheInstructionWithItsInput) {
  EXPECT_EQ(written(R"({"instruction":"I","input":"","output":"O"})", DataFormat::alpaca),
            "user(I)assistant(O)");
  EXPECT_EQ(written(R"({"instruction":"I","input":"N","output":"O","system":"S",
                        "history":[["a","b"]]})",
                    DataFormat::alpaca),
            "system(S)user(a)assistant(b)user(I\nN)assistant(O)");
}

TEST(Example, ShareGptAndMessagesAreTheSameConversation) {
  const char* expected = "system(S)user(U)assistant(A)";
  EXPECT_EQ(written(R"({"conversations":[{"from":"human","value":"U"},
                        {"from":"gpt","value":"A"}],"system":"S"})",
                    DataFormat::sharegpt),
            expected);
  EXPECT_EQ(written(R"({"messages":[{"role":"system","content":"S"},
                        {"role":"user","content":"U"},{"role":"assistant","content":"A"}]})",
                    DataFormat::messages),
            expected);
}

TEST(Example, WhatATurnHasBesideItsTextReachesTheTemplateInTheFilesOrder) {
  const Conversation made = conversation_of(
      R"({"messages":[{"role":"user","content":"q","name":"ann"},
          {"role":"assistant","weight":1,"content":null,"tool_calls":[{"type":"function",
           "function":{"name":"f","arguments":{"n":12345678901234567890123,"x":1.0}}}],
           "reasoning_content":"why","audio":null},
          {"role":"tool","content":"7","tool_call_id":"1"},{"role":"assistant","content":"A"}],
          "tools":"[{\"name\":\"f\"}]","documents":[{"t":1}],
          "chat_template_kwargs":{"enable_thinking":false}})",
      DataFormat::messages);
  EXPECT_EQ(made.messages[0].fields, R"({"role":"user","content":"q","name":"ann"})");
  EXPECT_EQ(made.messages[1].fields,
            R"({"role":"assistant","content":null,"tool_calls":[{"type":"function",)"
            R"("function":{"name":"f","arguments":{"n":12345678901234567890123,"x":1.0}}}],)"
            R"("reasoning_content":"why"})");
  EXPECT_EQ(made.messages[2].fields, R"({"role":"tool","content":"7","tool_call_id":"1"})");
  EXPECT_EQ(made.variables,
            R"({"tools":[{"name":"f"}],"documents":[{"t":1}],"enable_thinking":false})");
}

TEST(Example, ShareGptsCallsAndObservationsAreCallsOfToolsAndTheirResults) {
  const Conversation made = conversation_of(
      R"({"conversations":[{"from":"human","value":"q"},
          {"from":"function_call","value":"{\"name\":\"f\",\"arguments\":{\"a\":1}}"},
          {"from":"observation","value":"7"},{"from":"gpt","value":"A"}],
          "tools":"[{\"name\":\"f\"}]"})",
      DataFormat::sharegpt);
  EXPECT_EQ(made.messages[1].fields,
            R"({"role":"assistant","content":"","tool_calls":[{"type":"function",)"
            R"("function":{"name":"f","arguments":{"a":1}}}]})");
  EXPECT_EQ(made.messages[2].fields, R"({"role":"tool","content":"7"})");
  EXPECT_EQ(made.variables, R"({"tools":[{"type":"function","function":{"name":"f"}}]})");
}

TEST(Example, MasksOfTurnsAreReadAndDoNotReachTheTemplate) {
  for (const char* mask :
       {"\"weight\":0", "\"weight\":0.0", "\"train\":false", "\"loss\":false", "\"loss_mask\":0",
        "\"loss_weight\":0.0", "\"training\":false", "\"compute_loss\":false", "\"learn\":0"}) {
    const std::string row = std::string(R"({"messages":[{"role":"user","content":"q"},)") +
                            R"({"role":"assistant","content":"a",)" + mask +
                            R"(},{"role":"assistant","content":"b","weight":1}]})";
    EXPECT_EQ(written(row, DataFormat::messages), "user(q)!assistant(a)assistant(b)") << mask;
    EXPECT_EQ(conversation_of(row, DataFormat::messages).messages[1].fields,
              R"({"role":"assistant","content":"a"})");
  }
  ExampleFormat named = example_format(DataFormat::messages);
  named.learnt = "keep";
  EXPECT_EQ(written(R"({"messages":[{"role":"assistant","content":"a","keep":false},
                        {"role":"assistant","content":"b"}]})",
                    named),
            "!assistant(a)assistant(b)");
  EXPECT_EQ(written(R"({"messages":[{"role":"assistant","content":"a","weight":0}]})",
                    DataFormat::messages),
            "row: messages: has no message that is to be learnt");
}

TEST(Example, ABadRowIsToldByItsField) {
  const auto told = [](DataFormat kind, const std::string& row) { return written(row, kind); };
  EXPECT_EQ(told(DataFormat::jsonl, R"({"txt":"x"})"), "row: text: is missing");
  EXPECT_EQ(told(DataFormat::jsonl, R"({"text":3})"), "row: text: must be text");
  EXPECT_EQ(told(DataFormat::alpaca, R"({"instruction":"x"})"), "row: output: is missing");
  EXPECT_EQ(told(DataFormat::alpaca, R"({"instruction":"x","output":""})"),
            "row: output: is empty");
  EXPECT_EQ(told(DataFormat::alpaca, R"({"instruction":"x","output":"y","history":[["a"]]})"),
            "row: history[0]: must be a [question, answer] pair of texts");
  EXPECT_EQ(told(DataFormat::messages, R"({"messages":[{"role":"judge","content":"x"}]})"),
            "row: messages[0].role: \"judge\" is not one of user, assistant, system, tool, "
            "developer, ipython: say what it means in the data set's roles, such as {bot: "
            "assistant}");
  EXPECT_EQ(told(DataFormat::messages, R"({"messages":[{"role":"assistant","content":""}]})"),
            "row: messages[0].content: is empty");
  EXPECT_EQ(told(DataFormat::messages, R"({"messages":[{"role":"user","content":null}]})"),
            "row: messages[0].content: is null");
  EXPECT_EQ(told(DataFormat::messages, R"({"messages":[{"role":"user","content":"x"}]})"),
            "row: messages: has no message of the assistant to learn");
  EXPECT_EQ(told(DataFormat::messages,
                 R"({"messages":[{"role":"assistant","content":"x","function_call":{}}]})"),
            "row: messages[0].function_call: is OpenAI's older form: write tool_calls");
  EXPECT_EQ(written(R"({"conversations":[{"from":"function_call","tool_calls":[{"name":"f"}]}]})",
                    DataFormat::sharegpt),
            "row: conversations[0].value: must be a call of a tool as JSON");
  EXPECT_EQ(
      told(DataFormat::messages,
           R"({"messages":[{"role":"assistant","content":"x"}],"images":["a"]})"),
      "row: images: is not read: text alone is learnt (remove the field where the text stands "
      "without it)");
  EXPECT_EQ(told(DataFormat::messages,
                 R"({"messages":[{"role":"assistant","content":"x","tool_calls":[{"p":NaN}]}]})"),
            "row: messages[0]: holds NaN or Infinity, which no template can write");
}

std::filesystem::path write_registry_file(const ScratchFolder& folder, const std::string& name,
                                          const std::string& text) {
  std::ofstream(folder.path() / name, std::ios::binary) << text;
  return folder.path() / name;
}

std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const BadRequest& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(DatasetInfo, NamesFilesColumnsAndTags) {
  const ScratchFolder folder;
  const auto registry = write_registry_file(folder, "dataset_info.json", R"({
    "plain": {"file_name": "a.json"},
    "mine": {"file_name": "a.json", "columns": {"prompt": "q", "response": "a", "system": "s"}},
    "wiki": {"file_name": "w.jsonl", "columns": {"prompt": "article"}},
    "chat": {"file_name": "c.json", "formatting": "sharegpt", "columns": {"messages": "turns"},
             "tags": {"role_tag": "who", "content_tag": "said", "user_tag": "u",
                      "assistant_tag": "a", "system_tag": "s"}},
    "part": {"file_name": "a", "split": "train_sft", "folder": "en", "num_samples": 5},
    "ranked": {"file_name": "a.json", "ranking": true},
    "seen": {"file_name": "a.json", "formatting": "sharegpt", "columns": {"images": "i"}},
    "typo": {"file_nam": "a.json"}})");
  const Dataset plain = registered_dataset(registry, "plain");
  EXPECT_EQ(plain.data, folder.path() / "a.json");
  EXPECT_FALSE(plain.format);
  EXPECT_EQ(written(R"({"q":"Q","a":"A","s":"S","history":3,"input":"not read","label":true})",
                    registered_dataset(registry, "mine").format.value()),
            "system(S)user(Q)assistant(A)");
  EXPECT_EQ(written(R"({"article":"x"})", registered_dataset(registry, "wiki").format.value()),
            "x");
  EXPECT_EQ(written(R"({"turns":[{"who":"u","said":"U"},{"who":"a","said":"A"}]})",
                    registered_dataset(registry, "chat").format.value()),
            "user(U)assistant(A)");
  const Dataset part = registered_dataset(registry, "part");
  EXPECT_EQ(part.part.split, "train_sft");
  EXPECT_EQ(part.part.subset, "en");
  EXPECT_EQ(part.num_samples, 5);
  const auto refused = [&](const std::string& name) {
    return refusal_of([&] { (void)registered_dataset(registry, name); });
  };
  EXPECT_NE(refused("ranked").find("ranked: ranking: is preference data"), std::string::npos);
  EXPECT_NE(refused("seen").find("seen: columns.images: is not read"), std::string::npos);
  EXPECT_NE(refused("typo").find("typo: file_nam: unknown field; did you mean \"file_name\""),
            std::string::npos)
      << refused("typo");
  EXPECT_NE(refused("min").find("no entry of that name; did you mean \"mine\""), std::string::npos)
      << refused("min");
}

TEST(DatasetInfo, AFileIsFoundBesideItsRegistryAndByNameInTheFolder) {
  const ScratchFolder folder;
  write_registry_file(
      folder, "dataset_info.json",
      R"({"mine": {"file_name": "a.json", "columns": {"prompt": "q", "response": "a"}}})");
  const auto file = write_registry_file(folder, "a.json", "[]");
  EXPECT_EQ(find_dataset(file, std::nullopt).format->prompt, "q");
  EXPECT_EQ(find_dataset("mine", folder.path()).data, file);
  EXPECT_EQ(find_dataset("a.json", folder.path()).format->prompt, "q");
  EXPECT_NE(refusal_of([&] { (void)find_dataset("other", folder.path()); }).find("other"),
            std::string::npos);
}

TEST(ExampleFormat, TheIdentityOfTheUsualFormatsIsThatOf010) {
  const std::string usual =
      "\ntext\ninstruction\ninput\noutput\nhistory\nsystem\nmessages\nrole\ncontent\nuser user\n"
      "assistant assistant\nsystem system";
  for (const DataFormat kind : {DataFormat::jsonl, DataFormat::alpaca, DataFormat::messages}) {
    EXPECT_EQ(example_format(kind).canonical(), planner::to_string(kind) + usual);
  }
  EXPECT_EQ(
      example_format(DataFormat::sharegpt).canonical(),
      "sharegpt\ntext\ninstruction\ninput\noutput\nhistory\nsystem\nconversations\nfrom\nvalue"
      "\nuser human\nuser user\nassistant gpt\nassistant assistant\nsystem system");
}

}  // namespace
}  // namespace sluice::engine::test
