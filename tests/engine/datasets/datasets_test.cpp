#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "engine/datasets/dataset_info.hpp"
#include "engine/datasets/document_cache.hpp"
#include "engine/datasets/example_file.hpp"
#include "engine/datasets/packing.hpp"
#include "sim/error.hpp"
#include "tests/engine/scratch_folder.hpp"

namespace sluice::engine::test {
namespace {

using planner::DataFormat;

std::filesystem::path write_file(const ScratchFolder& folder, const std::string& name,
                                 const std::string& text) {
  std::ofstream(folder.path() / name, std::ios::binary) << text;
  return folder.path() / name;
}

/// Message of the BadRequest that `call` throws, without the folder's path.
std::string refused_with(const std::function<void()>& call) {
  try {
    call();
  } catch (const BadRequest& error) {
    return error.what();
  }
  return "nothing was refused";
}

/// "NAME:LINE" and text of each example.
std::vector<std::string> examples_of(const std::filesystem::path& file) {
  std::vector<std::string> found;
  read_examples(file, [&](const nlohmann::json& object, const std::string& where) {
    found.push_back(where.substr(where.rfind('/') + 1) + " " + object.dump());
    return Reading::goes_on;
  });
  return found;
}

TEST(RecordFile, LinesAndElementsOfAnArrayAreRecordsWithTheLineTheyBeginAt) {
  const ScratchFolder folder;
  EXPECT_EQ(examples_of(write_file(folder, "a", "{\"x\":1}\n\n  \r\n{\"x\":\"]}\\\"\"}")),
            (std::vector<std::string>{"a:1 {\"x\":1}", "a:4 {\"x\":\"]}\\\"\"}"}));
  EXPECT_EQ(examples_of(write_file(folder, "b",
                                   "\xef\xbb\xbf [\n{\"x\":[1,\n2]},\n\n{\"x\":\"}\\\\\"} ]\n")),
            (std::vector<std::string>{"b:2 {\"x\":[1,2]}", "b:5 {\"x\":\"}\\\\\"}"}));
  EXPECT_TRUE(examples_of(write_file(folder, "c", "")).empty());
  EXPECT_TRUE(examples_of(write_file(folder, "d", " [ ] ")).empty());
}

TEST(RecordFile, WhatIsNoRecordIsRefusedByFileAndLine) {
  const ScratchFolder folder;
  for (const auto& [text, reason] : std::vector<std::pair<std::string, std::string>>{
           {"{}\n{\"x\":}\n", "bad:2: "},
           {"{}\n[1]\n", "bad:2: an example must be an object"},
           {"[{},\n{\"x\":1}\n{}]", "bad:3: after an example there must be a comma"},
           {"[{},\n7]", "bad:2: an example must be an object"},
           {"[\n{\"x\":\"}", "bad:2: the example is not closed"},
           {"[{}", "bad:1: after an example"}}) {
    const auto file = write_file(folder, "bad", text);
    EXPECT_NE(refused_with([&] { (void)examples_of(file); }).find(reason), std::string::npos)
        << text << ": " << refused_with([&] { (void)examples_of(file); });
  }
}

Conversation conversation_of(const std::string& object, const ExampleFormat& format) {
  return std::get<Conversation>(read_example(nlohmann::json::parse(object), format, "f:1"));
}

std::string written(const Conversation& conversation) {
  std::string out;
  for (const ChatMessage& each : conversation.messages) {
    const auto fields = nlohmann::json::parse(each.fields);
    out +=
        fields.at("role").get<std::string>() + "(" + fields.at("content").get<std::string>() + ")";
  }
  return out;
}

TEST(ExampleFormat, AlpacaIsASystemMessageTheHistoryAndTheInstructionWithItsInput) {
  const ExampleFormat alpaca = example_format(DataFormat::alpaca);
  EXPECT_EQ(written(conversation_of(R"({"instruction":"I","input":"","output":"O"})", alpaca)),
            "user(I)assistant(O)");
  EXPECT_EQ(written(conversation_of(R"({"instruction":"I","input":"N","output":"O","system":"S",
                                        "history":[["a","b"]]})",
                                    alpaca)),
            "system(S)user(a)assistant(b)user(I\nN)assistant(O)");
}

TEST(ExampleFormat, ShareGptAndMessagesAreTheSameConversation) {
  const char* expected = "system(S)user(U)assistant(A)";
  EXPECT_EQ(written(conversation_of(R"({"conversations":[{"from":"human","value":"U"},
                                        {"from":"gpt","value":"A"}],"system":"S"})",
                                    example_format(DataFormat::sharegpt))),
            expected);
  EXPECT_EQ(written(conversation_of(R"({"messages":[{"role":"system","content":"S"},
                                        {"role":"user","content":"U"},
                                        {"role":"assistant","content":"A"}]})",
                                    example_format(DataFormat::messages))),
            expected);
}

TEST(ExampleFormat, ABadExampleIsRefusedByPlaceAndField) {
  const auto refused = [](DataFormat kind, const std::string& object) {
    return refused_with(
        [&] { (void)read_example(nlohmann::json::parse(object), example_format(kind), "f:7"); });
  };
  EXPECT_EQ(refused(DataFormat::jsonl, R"({"txt":"x"})"), "f:7: text: is missing");
  EXPECT_EQ(refused(DataFormat::jsonl, R"({"text":3})"), "f:7: text: must be text");
  EXPECT_EQ(refused(DataFormat::alpaca, R"({"instruction":"x"})"), "f:7: output: is missing");
  EXPECT_EQ(refused(DataFormat::alpaca, R"({"instruction":"x","output":"y","history":[["a"]]})"),
            "f:7: history[0]: must be a [question, answer] pair of texts");
  EXPECT_EQ(refused(DataFormat::messages, R"({"messages":[{"role":"tool","content":"x"}]})"),
            "f:7: messages[0].role: \"tool\": calls of tools and what they returned are not "
            "supported: leave the example out");
  EXPECT_EQ(refused(DataFormat::messages, R"({"messages":[{"role":"judge","content":"x"}]})"),
            "f:7: messages[0].role: \"judge\" is not one of user, assistant, system");
  EXPECT_EQ(refused(DataFormat::messages,
                    R"({"messages":[{"role":"assistant","content":"","tool_calls":[{}]}]})"),
            "f:7: messages[0].tool_calls: calls of tools and what they returned are not "
            "supported: leave the example out");
  EXPECT_EQ(refused(DataFormat::messages, R"({"messages":[{"role":"user","content":[]}]})"),
            "f:7: messages[0].content: must be text");
  EXPECT_EQ(refused(DataFormat::messages, R"({"messages":[{"role":"user","content":"x"}]})"),
            "f:7: messages: has no message of the assistant to learn");
  EXPECT_EQ(refused(DataFormat::sharegpt, R"({"conversations":[{"from":"human","value":"x"},
                                              {"from":"system","value":"x"}]})"),
            "f:7: conversations[1].from: a system message may only come first");
  EXPECT_EQ(refused(DataFormat::messages, R"({"messages":[],"tools":"[{}]"})"),
            "f:7: tools: is not supported: leave it out");
}

TEST(DatasetInfo, NamesFilesColumnsAndTags) {
  const ScratchFolder folder;
  const auto registry = write_file(folder, "dataset_info.json", R"({
    "plain": {"file_name": "a.json"},
    "mine": {"file_name": "a.json", "columns": {"prompt": "q", "response": "a", "system": "s"}},
    "wiki": {"file_name": "w.jsonl", "columns": {"prompt": "article"}},
    "chat": {"file_name": "c.json", "formatting": "sharegpt", "columns": {"messages": "turns"},
             "tags": {"role_tag": "who", "content_tag": "said", "user_tag": "u",
                      "assistant_tag": "a", "system_tag": "s"}},
    "hub": {"hf_hub_url": "someone/thing"},
    "ranked": {"file_name": "a.json", "ranking": true},
    "seen": {"file_name": "a.json", "formatting": "sharegpt", "columns": {"images": "i"}},
    "typo": {"file_nam": "a.json"}})");
  const Dataset plain = registered_dataset(registry, "plain");
  EXPECT_EQ(plain.file, folder.path() / "a.json");
  EXPECT_FALSE(plain.format);
  EXPECT_EQ(written(conversation_of(R"({"q":"Q","a":"A","s":"S","history":3})",
                                    registered_dataset(registry, "mine").format.value())),
            "system(S)user(Q)assistant(A)");
  const Dataset wiki = registered_dataset(registry, "wiki");
  EXPECT_EQ(std::get<std::string>(
                read_example(nlohmann::json{{"article", "x"}}, wiki.format.value(), "f:1")),
            "x");
  EXPECT_EQ(written(conversation_of(R"({"turns":[{"who":"u","said":"U"},{"who":"a","said":"A"}]})",
                                    registered_dataset(registry, "chat").format.value())),
            "user(U)assistant(A)");
  const auto refused = [&](const std::string& name) {
    return refused_with([&] { (void)registered_dataset(registry, name); });
  };
  EXPECT_NE(refused("hub").find("hub: hf_hub_url: nothing is downloaded"), std::string::npos);
  EXPECT_NE(refused("ranked").find("ranked: ranking: preference data"), std::string::npos);
  EXPECT_NE(refused("seen").find("seen: columns.images: is not supported"), std::string::npos);
  EXPECT_NE(refused("typo").find("typo: file_nam: unknown field; did you mean \"file_name\""),
            std::string::npos)
      << refused("typo");
  EXPECT_NE(refused("min").find("no entry of that name; did you mean \"mine\""), std::string::npos)
      << refused("min");
}

TEST(DatasetInfo, AFileIsFoundBesideItsRegistryAndByNameInTheFolder) {
  const ScratchFolder folder;
  write_file(folder, "dataset_info.json",
             R"({"mine": {"file_name": "a.json", "columns": {"prompt": "q", "response": "a"}}})");
  const auto file = write_file(folder, "a.json", "[]");
  EXPECT_EQ(find_dataset(file, std::nullopt).format->prompt, "q");
  EXPECT_EQ(find_dataset("mine", folder.path()).file, file);
  EXPECT_EQ(find_dataset("a.json", folder.path()).format->prompt, "q");
  EXPECT_NE(refused_with([&] { (void)find_dataset("other", folder.path()); }).find("other"),
            std::string::npos);
}

TEST(Packing, EveryPieceIsInOneSequenceAndNoneIsTooLong) {
  std::vector<std::int64_t> lengths;
  lengths.reserve(500);
  for (std::int64_t i = 0; i < 500; ++i) lengths.push_back(1 + (i * 7919) % 100);
  const auto sequences = packed(lengths, 100);
  std::vector<int> seen(lengths.size());
  for (const auto& sequence : sequences) {
    std::int64_t taken = 0;
    for (const std::int64_t piece : sequence) {
      ++seen[static_cast<std::size_t>(piece)];
      taken += lengths[static_cast<std::size_t>(piece)];
    }
    EXPECT_LE(taken, 100);
  }
  EXPECT_TRUE(std::ranges::all_of(seen, [](int each) { return each == 1; }));
  const std::int64_t total = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  EXPECT_LE(std::ssize(sequences), total / 100 + 3);
}

TEST(Packing, APieceGoesWhereTheLeastRoomIsLeft) {
  using Sequences = std::vector<std::vector<std::int64_t>>;
  EXPECT_EQ(packed(std::vector<std::int64_t>{7, 8, 2, 3}, 10), (Sequences{{0, 3}, {1, 2}}));
  EXPECT_EQ(packed(std::vector<std::int64_t>{10, 10}, 10), (Sequences{{0}, {1}}));
  EXPECT_TRUE(packed({}, 10).empty());
}

TEST(DocumentCache, HoldsDocumentsAndIsMadeAnewWhereItIsNotWhole) {
  const ScratchFolder folder;
  const auto file = folder.path() / "kept.documents";
  int made = 0;
  const auto make = [&made](const DocumentCache::AddDocument& add) {
    ++made;
    add(std::vector<LearntToken>{1, ~2, 3});
    add(std::vector<LearntToken>{});
    add(std::vector<LearntToken>{4});
  };
  for (int time = 0; time < 2; ++time) {
    const DocumentCache cache(file, make);
    EXPECT_EQ(cache.documents(), 3);
    EXPECT_EQ(std::vector<LearntToken>(cache.tokens().begin(), cache.tokens().end()),
              (std::vector<LearntToken>{1, ~2, 3, 4}));
    EXPECT_EQ(cache.start(1), 3);
    EXPECT_EQ(cache.start(2), 3);
    EXPECT_EQ(cache.start(3), 4);
    EXPECT_EQ(made, 1);
  }
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  EXPECT_EQ(DocumentCache(file, make).documents(), 3);
  EXPECT_EQ(made, 2);
}

}  // namespace
}  // namespace sluice::engine::test
