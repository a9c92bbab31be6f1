#include "engine/launch/board_words.hpp"

#include <sstream>

namespace sluice::engine {
namespace {

constexpr char kGreeting[] = "sluice-board-1";
constexpr char kPost = 'p', kFind = 'f', kYes = '+', kNo = '-';

}  // namespace

std::string hello_text(const Hello& hello) {
  return std::string(kGreeting) + ' ' + std::to_string(hello.rank) + ' ' +
         std::to_string(hello.size) + ' ' + hello.host + ' ' + hello.token;
}

std::optional<Hello> read_hello(const std::string& text) {
  std::istringstream words(text);
  std::string greeting;
  Hello hello;
  if (!(words >> greeting >> hello.rank >> hello.size >> hello.host) || greeting != kGreeting) {
    return std::nullopt;
  }
  words >> hello.token;
  return hello;
}

std::string post_request(const std::string& key, const std::string& text) {
  return kPost + key + '\n' + text;
}

std::string find_request(const std::string& key) { return kFind + key; }

std::string answer_to(const std::string& request, Board& board) {
  if (request.empty()) return std::string(1, kNo);
  if (request[0] == kFind) {
    const auto text = board.find(request.substr(1));
    return text ? kYes + *text : std::string(1, kNo);
  }
  const std::size_t line_end = request.find('\n');
  if (line_end == std::string::npos) return std::string(1, kNo);
  const std::string key = request.substr(1, line_end - 1);
  return {board.post(key, request.substr(line_end + 1)) ? kYes : kNo};
}

bool was_posted(const std::string& answer) { return answer.starts_with(kYes); }

std::optional<std::string> found_in(const std::string& answer) {
  if (!answer.starts_with(kYes)) return std::nullopt;
  return answer.substr(1);
}

}  // namespace sluice::engine
