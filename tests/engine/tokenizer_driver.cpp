// tokenizer_driver FILE: for each line on stdin, a JSON string, one line of JSON with its ids,
// their places in bytes, its ids with the model's own special tokens around, and both decodings.
// FILE is a tokenizer.json or a folder that has a tokenizer. tokenizer_driver --time FILE TEXT:
// encodes the file TEXT, a line at a time with its end, and prints the bytes, the seconds of
// processor time and the number of tokens.
#include <algorithm>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/tokenizer/tokenizer_folder.hpp"
#include "planner/files/whole_file.hpp"
#include "sim/error.hpp"

namespace {

using sluice::engine::Tokenizer;

Tokenizer opened(const std::filesystem::path& place) {
  if (!std::filesystem::is_directory(place)) return Tokenizer::from_file(place);
  const auto found = sluice::engine::find_tokenizer(place);
  if (const auto* none = std::get_if<sluice::engine::NoTokenizer>(&found)) {
    throw sluice::BadRequest(none->why);
  }
  return std::get<sluice::engine::TokenizerFolder>(found).load();
}

nlohmann::json encoded(Tokenizer& tokenizer, const std::string& text) {
  const auto ids = tokenizer.encode(text, Tokenizer::SpecialTokens::none);
  nlohmann::json placed = nlohmann::json::array(), places = nlohmann::json::array();
  for (const auto& token : tokenizer.encode_with_offsets(text)) {
    placed.push_back(token.id);
    places.push_back({token.begin, token.end});
  }
  return {{"ids", ids},
          {"placed", placed},
          {"places", places},
          {"around", tokenizer.encode(text, Tokenizer::SpecialTokens::around)},
          {"decoded", tokenizer.decode(ids, Tokenizer::Special::kept)},
          {"skipped", tokenizer.decode(ids, Tokenizer::Special::skipped)}};
}

void measure(Tokenizer& tokenizer, const std::string& text) {
  const std::clock_t begin = std::clock();
  std::size_t tokens = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string_view line = std::string_view(text).substr(at, end - at);
    tokens += tokenizer.encode(line, Tokenizer::SpecialTokens::none).size();
    at = end;
  }
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  std::cout << nlohmann::json{{"bytes", text.size()}, {"seconds", seconds}, {"tokens", tokens}}
            << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  const bool timed = argc == 4 && std::string(argv[1]) == "--time";
  if (argc != 2 && !timed) return 2;
  try {
    Tokenizer tokenizer = opened(argv[timed ? 2 : 1]);
    if (timed) {
      measure(tokenizer, sluice::planner::read_whole_file(argv[3]));
      return 0;
    }
    for (std::string line; std::getline(std::cin, line);) {
      std::cout << encoded(tokenizer, nlohmann::json::parse(line).get<std::string>()).dump()
                << '\n';
    }
  } catch (const sluice::Error& error) {
    std::cerr << error.what() << '\n';
    return error.code() == sluice::ExitCode::bad_request ? 2 : 4;
  }
  return 0;
}
