// A Python process that answers requests: one script of ours, isolated and limited.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/units.hpp"

namespace sluice::engine {

/// A module that a script imports, and the names of the packages that bring it.
struct PythonModule {
  std::string name;         ///< Name to import, such as "jinja2".
  std::string apt_package;  ///< Debian's package; empty if there is none.
  std::string pip_package;  ///< Package on PyPI.
};

/// A script that is compiled into the program. It runs behind engine/python/prelude.py, which
/// imports `modules`, applies the limits, and defines requests() and reply().
struct PythonScript {
  std::string purpose;  ///< Things that the script reads, for messages: "chat templates".
  std::string_view text;
  std::vector<PythonModule> modules;
};

/// Limits of a Python process.
struct PythonLimits {
  Bytes memory = Bytes(2LL << 30);                             ///< Address space of the process.
  std::chrono::milliseconds start = std::chrono::seconds(60);  ///< Longest wait for the imports.
};

/// A running script. Every failure of the process (it dies, hangs, writes what is no reply) throws
/// EnvironmentError of one line that names the interpreter, and ends the process.
class PythonChild {
 public:
  /// Starts the script in the first interpreter that can import its modules. Throws
  /// EnvironmentError if there is none, with the command that installs them, or if SLUICE_PYTHON
  /// names what cannot be run.
  explicit PythonChild(const PythonScript& script, const PythonLimits& limits = {});
  ~PythonChild();
  PythonChild(const PythonChild&) = delete;  // Owns a process.
  PythonChild& operator=(const PythonChild&) = delete;

  /// Path of the interpreter that runs the script.
  [[nodiscard]] const std::string& interpreter() const { return interpreter_; }
  /// Version of one of the script's modules, as its package states it.
  [[nodiscard]] std::string version(const std::string& module) const;

  /// What the process wrote to its stderr since its modules were imported, such as the warnings of
  /// a library: the end of it, of several lines perhaps, or nothing.
  [[nodiscard]] std::string said() const;

  /// What a reply tells exchange(): go_on, to wait for another reply; complete, to return.
  enum class Replies { go_on, complete };
  /// Sends lines (each one JSON text without line feeds) while it reads replies, until `reply` says
  /// that they are complete. `limit` is the longest wait for the next reply, and in processor time
  /// where the process has work and the machine is busy with others'.
  void exchange(std::span<const std::string> requests,
                const std::function<Replies(std::string_view)>& reply,
                std::chrono::milliseconds limit);
  /// Sends one line and returns the one line that answers it.
  [[nodiscard]] std::string ask(const std::string& request, std::chrono::milliseconds limit);
  /// Ends the process because `line` is no reply that its script writes.
  [[noreturn]] void refuse_reply(std::string_view line);

 private:
  /// The next byte to send: index of its request in exchange()'s list, and index of the byte in it.
  struct Position {
    std::size_t request = 0, byte = 0;
  };
  enum class Started { yes, module_missing, no_such_program };
  Started start(const std::string& interpreter, const PythonScript& script,
                const PythonLimits& limits);
  [[nodiscard]] std::string read_line(std::chrono::milliseconds limit);
  void send_some(std::span<const std::string> requests, Position& at);
  /// Calls `reply` with each whole line received, until it says that replies are complete. Returns
  /// whether it did.
  bool take_lines(const std::function<Replies(std::string_view)>& reply);
  void stop() noexcept;
  [[noreturn]] void fail(const std::string& what);
  /// The end of what the process wrote to its stderr behind byte `begin`.
  [[nodiscard]] std::string errors_from(off_t begin) const;
  [[nodiscard]] std::string last_words() const;

  std::string purpose_, interpreter_;
  std::string hello_;    ///< First line of the script: versions of its modules.
  std::string missing_;  ///< Name of a module that the interpreter tried last lacks.
  pid_t process_ = -1;
  int socket_ = -1;        ///< Our end of the socket for requests and replies.
  int errors_ = -1;        ///< Read end of the process's stderr.
  off_t said_before_ = 0;  ///< Bytes of stderr when the modules were imported.
  std::string received_;
  std::size_t searched_ = 0;  ///< Bytes of `received_` that are known to hold no line feed.
};

}  // namespace sluice::engine
