// What ranks and the first rank's board say to each other.
#pragma once

#include <optional>
#include <string>

#include "engine/ranks/board.hpp"

namespace sluice::engine {

/// How a rank introduces itself.
struct Hello {
  std::string token;
  int rank = 0;
  int size = 0;
  std::string host;  ///< Name of the rank's host, without spaces.
};
[[nodiscard]] std::string hello_text(const Hello& hello);
/// The introduction in `text`; none if it is something else.
[[nodiscard]] std::optional<Hello> read_hello(const std::string& text);

/// Answer to a rank that is let in, before the name of the first rank's host, and to one that
/// another process came as; any other answer says why a rank is refused.
inline constexpr char kWelcome[] = "welcome ";
inline constexpr char kTaken[] = "taken";
/// What a rank says that has nothing to ask for a while, and one that leaves; neither is answered.
inline constexpr char kAlive[] = "alive";
inline constexpr char kLeaves[] = "leaves";

[[nodiscard]] std::string post_request(const std::string& key, const std::string& text);
[[nodiscard]] std::string find_request(const std::string& key);
/// The answer of `board` to a request.
[[nodiscard]] std::string answer_to(const std::string& request, Board& board);
/// Whether `answer` to a request to post says that the text was posted.
[[nodiscard]] bool was_posted(const std::string& answer);
/// The text in `answer` to a request to find.
[[nodiscard]] std::optional<std::string> found_in(const std::string& answer);

}  // namespace sluice::engine
