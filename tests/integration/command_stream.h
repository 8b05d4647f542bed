#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stout/core/random.h"

namespace stout::test {

/// A command of Redis: its name and its arguments.
using Words = std::vector<std::string>;

/// How a reply of stout-node is compared with that of redis.
enum class Comparison : std::uint8_t {
  kBytes,     ///< they are equal
  kKeys,      ///< of SCAN: the same keys, in any order
  kGreeting,  ///< of HELLO: equal, except for the server's name and version and the client's number
  kDeadline,  ///< equal, except for the time between the two servers' turns
};

class WordSource;

/// How one command of stout-node is tested.
struct CommandRow {
  std::string_view name;  ///< as in the table of commands: "client|getname"
  int weight;             ///< how often it is sent, relative to others; 0: never, see `reason`
  void (*arguments)(WordSource& source) = nullptr;
  std::string_view reason = {};  ///< of the known difference to redis; empty: there is none
  bool in_transactions = true;   ///< false: not sent after MULTI, see `reason`
  Comparison comparison = Comparison::kBytes;
  bool any_arity = true;  ///< false: not sent with too few or too many arguments, see `reason`
};

/// All commands that can be tested. Rows of commands that the node does not have are not used.
[[nodiscard]] std::span<const CommandRow> CommandRows();

/// Random arguments of commands.
class WordSource {
 public:
  /// `expires`: keys can have a deadline.
  WordSource(SplitMix64& random, bool expires) : random_(random), expires_(expires) {}

  [[nodiscard]] bool expires() const { return expires_; }
  [[nodiscard]] std::size_t Below(std::size_t bound) { return random_.Below(bound); }
  [[nodiscard]] bool OneIn(std::size_t n) { return Below(n) == 0; }

  /// These add one argument.
  /// @{
  void Add(std::string word) { words.push_back(std::move(word)); }
  void OneOf(std::span<const std::string_view> choice);
  void OneOf(std::initializer_list<std::string_view> choice);
  void Key();
  void Value();
  void Integer();
  /// So far ahead that it does not pass during a test, or at most 0, or invalid. Redis counts keys
  /// whose deadline has passed until it comes upon them.
  void Deadline(bool absolute, bool milliseconds);
  /// @}

  Words words;

 private:
  SplitMix64& random_;
  const bool expires_;
};

/// A random stream of commands of a few clients on few keys. The same for the same seed and rows.
class CommandStream {
 public:
  static constexpr std::size_t kConnections = 2;

  struct Command {
    Words words;
    const CommandRow* row;
  };
  /// Commands that one client sends at once.
  struct Chunk {
    std::size_t connection = 0;
    std::vector<Command> commands;
    std::string bytes;          ///< the commands in the protocol of Redis
    std::size_t split = 0;      ///< these bytes are sent first, and the others in a further packet
    bool ends_session = false;  ///< the last command is QUIT
  };

  /// `known`: names of the commands of the node.
  CommandStream(std::uint64_t seed, const std::set<std::string_view>& known);

  [[nodiscard]] Chunk Next();

 private:
  // Writes and removes more than a cache of 1 MiB can hold, so that the node has to read the other
  // keys from its store again.
  [[nodiscard]] Chunk Flood();
  [[nodiscard]] Command NextCommand(bool in_transaction);
  [[nodiscard]] const CommandRow& Choose(bool in_transaction);
  void Encode(const Words& words, std::string& bytes);

  SplitMix64 random_;
  bool expires_ = false;
  std::vector<const CommandRow*> rows_;
  std::size_t weights_ = 0;
  std::array<bool, kConnections> in_transaction_{};
};

}  // namespace stout::test
