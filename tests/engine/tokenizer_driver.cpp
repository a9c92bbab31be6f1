// tokenizer_driver TOKENIZER.json: for each line on stdin, a JSON string, one line of JSON with its
// ids, its ids with the model's own special tokens around, and both decodings.
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/tokenizer/tokenizer.hpp"
#include "sim/error.hpp"

int main(int argc, char** argv) {
  using sluice::engine::Tokenizer;
  if (argc != 2) return 2;
  try {
    Tokenizer tokenizer = Tokenizer::from_file(argv[1]);
    for (std::string line; std::getline(std::cin, line);) {
      const auto text = nlohmann::json::parse(line).get<std::string>();
      const auto ids = tokenizer.encode(text, Tokenizer::SpecialTokens::none);
      const nlohmann::json out = {
          {"ids", ids},
          {"around", tokenizer.encode(text, Tokenizer::SpecialTokens::around)},
          {"decoded", tokenizer.decode(ids, Tokenizer::Special::kept)},
          {"skipped", tokenizer.decode(ids, Tokenizer::Special::skipped)}};
      std::cout << out.dump() << '\n';
    }
  } catch (const sluice::Error& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
  return 0;
}
