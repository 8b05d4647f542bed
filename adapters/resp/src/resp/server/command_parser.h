#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "resp/server/receive_buffer.h"

namespace stout::resp {

/// Limits of a client's input; an excess is an error that ends its connection. Defaults are redis's
/// except where stated.
struct CommandLimits {
  /// Bytes of an inline command, and of a line that announces a length. 64..1 MiB
  std::size_t max_line = std::size_t{64} << 10;
  /// Arguments of a command, its name included. 1..1,048,576 (the default of redis before 7.0)
  std::size_t max_arguments = std::size_t{1} << 20;
  static constexpr std::size_t kMaxBulk = std::size_t{512} << 20;
  /// Bytes of an argument. 64..kMaxBulk (the default of redis)
  std::size_t max_bulk = std::size_t{64} << 20;
  /// The limit that an error names, if only some commands may have max_bulk. 0: max_bulk
  std::size_t named_bulk = 0;
  /// Bytes of a whole command, which wait in memory until it is complete. max_bulk..4 GiB (redis: 1
  /// GiB)
  std::size_t max_request = std::size_t{256} << 20;
};

/// Returns nullopt if the limits are in range, otherwise one line that names the limit and the
/// remedy.
[[nodiscard]] std::optional<std::string> Validate(const CommandLimits& limits);

/// A client's command.
struct ParsedCommand {
  /// Its name, as the client spelled it, and what it is about: any bytes. Never empty.
  std::span<const std::string_view> arguments;
};

/// Finds commands in a client's stream: arrays of bulk strings, as programs write them, and lines
/// as people type them (inline_command.h), in any mixture, cut anywhere.
///
///     input.Commit(Read(socket, input.Prepare(std::clamp(parser.lacks(), kMin, kMax))));
///     while (const auto command = parser.Next(input)) Run(*command, reply);
///     if (!parser.error().empty()) { reply.Error(parser.error()); ... write, and close }
///
/// It follows redis, with its errors and its leniency. Commands without arguments are skipped. The
/// "\r\n" at the ends of lines and bulk strings is checked only as far as redis checks it. Unlike
/// redis's parser, its verdict does not depend on the cuts of the stream, and a NUL is a byte like
/// any other.
///
/// Owner: one connection, together with its ReceiveBuffer.   Threads: one at a time.
/// Errors: error() has the problem of the stream; there is no command after it.
/// Cost: looks once at each byte of a line, and not at bulk strings, for any number of reads.
///   Allocates no memory once the list of arguments has grown to the usual size.
class CommandParser {
 public:
  /// The limits are valid. `authenticated`: see set_authenticated.
  explicit CommandParser(const CommandLimits& limits = {}, bool authenticated = true);

  /// Until a client has authenticated, a command has at most 10 arguments of 16 KiB. A caller that
  /// gathers commands to run them together therefore executes an AUTH before the next command.
  void set_authenticated(bool authenticated) { authenticated_ = authenticated; }

  /// The next whole command, consumed from `input`; nothing before more has come, and after an
  /// error. The span is valid until the next call, the arguments themselves until the next
  /// input.Prepare. It is always the same `input`.
  [[nodiscard]] std::optional<ParsedCommand> Next(ReceiveBuffer& input);

  /// Empty, or what to answer before the connection is closed: "ERR Protocol error: ...".
  [[nodiscard]] std::string_view error() const { return error_; }

  /// How many bytes at least the argument still needs in whose midst the last call of Next stopped;
  /// 0 if in none. A hint for Prepare, of which a client can make any number below max_bulk.
  [[nodiscard]] std::size_t lacks() const { return lacks_; }

 private:
  // Offset of an argument from the front of the command, because bytes move while the rest is
  // awaited.
  struct Piece {
    std::size_t offset;
    std::size_t size;
  };

  // These answer whether what they look for is there; if not, more must come, or error_ is set.
  bool ReadInline(std::span<char> text);
  bool ReadArray(std::string_view text);
  bool ReadArraySize(std::string_view text);
  bool ReadBulkSize(std::string_view text);
  std::optional<std::string_view> TakeLine(std::string_view text, std::string_view too_long);
  std::optional<std::size_t> FindInLine(std::string_view text, char c, std::string_view too_long);
  bool Fail(std::string_view what);

  CommandLimits limits_;
  bool authenticated_;
  std::string error_;
  std::size_t lacks_ = 0;

  // State of the command at the front of the input, of which nothing is consumed before it is
  // whole:
  std::size_t position_ = 0;         // where its unread part begins,
  std::size_t searched_ = 0;         // bytes from there in which no end of a line was found,
  std::size_t arguments_lack_ = 0;   // how many are announced and not there; 0: also none yet,
  std::optional<std::size_t> bulk_;  // the size of the next one, once announced,
  std::vector<Piece> pieces_;        // and where those that are there lie.

  std::vector<std::string_view> arguments_;
};

}  // namespace stout::resp
