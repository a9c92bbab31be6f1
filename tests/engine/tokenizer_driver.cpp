// tokenizer_driver FILE: for each line on stdin, a JSON string, one line of JSON with its ids,
// their places in bytes, its ids with the model's own special tokens around, and both decodings.
// FILE is a tokenizer.json or a folder that has a tokenizer.
//
// tokenizer_driver --ids FILE TEXT: the ids of the file TEXT as 32-bit numbers on stdout, in parts
// of 8 KiB and up to the end of their line, with a -1 behind each part; on stderr the seconds of
// processor time that encoding took.
//
// tokenizer_driver --hash FOLDER: the hash of the folder's tokenizer.
#include <algorithm>
#include <cstdio>
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

sluice::engine::TokenizerFolder found_in(const std::filesystem::path& folder) {
  const auto found = sluice::engine::find_tokenizer(folder);
  if (const auto* none = std::get_if<sluice::engine::NoTokenizer>(&found)) {
    throw sluice::BadRequest(none->why);
  }
  return std::get<sluice::engine::TokenizerFolder>(found);
}

Tokenizer opened(const std::filesystem::path& place) {
  if (!std::filesystem::is_directory(place)) return Tokenizer::from_file(place);
  return found_in(place).load();
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

void write_ids(Tokenizer& tokenizer, const std::string& text) {
  constexpr std::size_t kPart = 8192;
  std::clock_t spent = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at + kPart), text.size() - 1) + 1;
    const std::clock_t begin = std::clock();
    auto ids = tokenizer.encode(std::string_view(text).substr(at, end - at),
                                Tokenizer::SpecialTokens::none);
    spent += std::clock() - begin;
    ids.push_back(-1);
    std::fwrite(ids.data(), sizeof ids.front(), ids.size(), stdout);
    at = end;
  }
  std::cerr << nlohmann::json{{"seconds", static_cast<double>(spent) / CLOCKS_PER_SEC}} << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  const bool listed = argc == 4 && std::string(argv[1]) == "--ids";
  const bool hashed = argc == 3 && std::string(argv[1]) == "--hash";
  if (argc != 2 && !listed && !hashed) return 2;
  try {
    if (hashed) {
      std::cout << found_in(argv[2]).hash() << '\n';
      return 0;
    }
    Tokenizer tokenizer = opened(argv[listed ? 2 : 1]);
    if (listed) {
      write_ids(tokenizer, sluice::planner::read_whole_file(argv[3]));
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
