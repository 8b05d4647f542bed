#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "blowfish/load/answer.h"
#include "blowfish/load/set_command.h"

namespace stout::blowfish {

/// The unfinished commands of a connection, in their order. Some are sent, and the server answers
/// one after the other. It does no I/O.
///
/// If a command must be sent again, because the server was busy or the connection lost, all
/// commands that were sent behind it are also sent again (go back N). So of two records with the
/// same key the later one stays, as if each had been sent once: a repetition of the last part of a
/// sequence of SETs changes nothing. (The exception is that commands of a lost connection come
/// late: see Loader.)
///
/// Invariants: the first sent_ of commands_ are sent and not answered. Unless rewinding_, due_ ==
/// sent_. While rewinding_ no command is sent, sent_ is 0, and due_ answers are still to come,
/// which do not count.
class SendWindow {
 public:
  struct Options {
    std::size_t commands = 256;  ///< That it is full with. >= 1
    std::size_t batch = 1;       ///< Records of a command. >= 1
  };

  /// The result of an answer.
  struct Outcome {
    enum class Kind : std::uint8_t {
      kLoaded,   ///< The records are in the server.
      kRefused,  ///< The record will never be.
      kAgain,    ///< The server cannot now; what is in the window will be sent again.
      kApart,    ///< The server refused several together, which will be sent one by one.
      kNothing,  ///< It does not count, for that is sent again anyway.
    };
    Kind kind = Kind::kNothing;
    std::size_t records = 0;  ///< Finished by this.
    std::size_t bytes = 0;    ///< bytes of their keys and values
    std::uint64_t line = 0;   ///< line of the first record

    friend bool operator==(const Outcome&, const Outcome&) = default;
  };

  explicit SendWindow(const Options& options) : options_(options) {}

  /// No record may be added now. Also where a window of large records takes too much memory.
  [[nodiscard]] bool full() const;
  [[nodiscard]] bool empty() const { return commands_.empty(); }
  /// The first line that is not finished.
  [[nodiscard]] std::optional<std::uint64_t> first_line() const;
  /// Answers that are to come.
  [[nodiscard]] std::size_t due() const { return due_; }
  /// Commands that were sent more than once.
  [[nodiscard]] std::uint64_t resent() const { return resent_; }

  /// Requires that it is not full. `line`: larger than of those before.
  void Add(std::string_view key, std::string_view value, std::uint64_t line);
  /// The last command is not waited for to become larger.
  void Flush() { open_ = false; }

  /// Returns the bytes to send now, counted as sent: whole commands of about `bytes`, or nothing.
  void TakeUnsent(std::size_t bytes, std::string& out);
  /// The next answer that is due. Requires due() > 0, and kDone, kAgain or kRefused.
  [[nodiscard]] Outcome OnAnswer(Answer answer);
  /// All has been answered, and what is in the window waits for Rewind().
  [[nodiscard]] bool round_over() const { return rewinding_ && due_ == 0; }
  /// From now on all is sent again. Also where the connection was lost.
  void Rewind();

 private:
  void GoBack();
  void Pop();

  const Options options_;
  std::deque<SetCommand> commands_;
  std::size_t encoded_bytes_ = 0;  // bytes of commands_
  std::size_t sent_ = 0;
  std::size_t due_ = 0;
  std::uint64_t resent_ = 0;
  bool open_ = false;  // The last command takes more records.
  bool rewinding_ = false;
};

}  // namespace stout::blowfish
