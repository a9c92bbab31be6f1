// chat_template_driver FOLDER [NAME [DATE]]: for each line on stdin, a JSON list of messages, one
// line of JSON with the pieces of the text that the folder's chat template (or the one of that
// name) makes of it, or with the error.
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "engine/chat/chat_template.hpp"
#include "engine/datasets/example_format.hpp"
#include "sim/error.hpp"

int main(int argc, char** argv) {
  using namespace sluice::engine;
  if (argc < 2) return 2;
  try {
    const auto word = [&](int at) {
      const bool given = argc > at && *argv[at] != '\0';
      return given ? std::optional<std::string>(argv[at]) : std::nullopt;
    };
    const ChatTemplate chat = chat_template_of(argv[1], word(2), word(3));
    const ExampleFormat format = example_format(sluice::planner::DataFormat::messages);
    for (std::string line; std::getline(std::cin, line);) {
      nlohmann::json out = nlohmann::json::object();
      try {
        const nlohmann::json record = {{"messages", nlohmann::json::parse(line)}};
        const Example example = read_example(record, format, "stdin");
        out["pieces"] = nlohmann::json::array();
        const Rendered rendered = chat.render({&std::get<Conversation>(example), 1}).front();
        if (!rendered.left_out.empty()) throw sluice::BadRequest(rendered.left_out);
        for (const ChatPiece& piece : rendered.pieces) {
          out["pieces"].push_back({piece.text, piece.learnt});
        }
      } catch (const sluice::Error& error) {
        out["error"] = error.what();
      }
      std::cout << out.dump() << '\n';
    }
  } catch (const sluice::Error& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
  return 0;
}
