#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/levels.h"
#include "node/node_service.h"
#include "node/request.h"
#include "node/table.h"
#include "resp/server/command.h"
#include "resp/server/session.h"
#include "stout/core/relaxed_reads.h"
#include "stout/core/types.h"

namespace stout::node {

/// STOUT.LEVEL: the levels of a connection. WAIT: the number of members that have its writes.
/// STOUT.WAIT members milliseconds [range epoch] ...: the same for these ranges, from another node.
///
/// Owner: its connection.   Threads: the connection's.
class LevelCommands {
 public:
  /// The ranges that a connection has written to, and the owner of each at its first write.
  using Writes = std::map<RangeId, Epoch>;

  /// All outlive it. `table`: as of Router. `seen`: by the connection.
  LevelCommands(NodeService& service, Table* const& table, Writes& writes,
                internal::CausalToken& seen, const resp::Session& session)
      : service_(service), table_(table), writes_(writes), seen_(seen), session_(session) {}

  /// Reads STOUT.LEVEL with arguments into `levels`. Returns false, and sets request.error, if
  /// nothing changes. Run sets the token of causal reads, after the commands before it.
  bool Set(Request& request, Levels& levels) const;
  /// Returns what a session with this token has seen, or nullopt if it is none.
  [[nodiscard]] static std::optional<TimePoint> ReadToken(std::string_view word);
  /// Returns the arguments of the STOUT.LEVEL that sets these.
  [[nodiscard]] static std::vector<std::string> Spell(const Levels& levels,
                                                      const internal::CausalToken& seen);

  /// Returns true for these commands, READONLY and READWRITE. They are refused inside a
  /// transaction.
  [[nodiscard]] static bool IsOne(const resp::Command& command);

  /// Carries out the command. Its reply is valid until Clear().
  [[nodiscard]] boost::asio::awaitable<void> Run(Request& request);
  void Clear() { replies_ = {}; }

 private:
  struct Question;

  // All nodes are to write.
  [[nodiscard]] bool IsShared() const;
  // Returns the number of members; sets request.error if it is not known.
  [[nodiscard]] boost::asio::awaitable<std::uint32_t> Wait(Request& request);
  [[nodiscard]] std::uint32_t FewestIn() const;
  // These lower question.least, or set question.error.
  [[nodiscard]] boost::asio::awaitable<void> CountAll(Question& question);
  [[nodiscard]] boost::asio::awaitable<void> CountAt(const std::string& owner, Question& question,
                                                     const Writes& writes);
  [[nodiscard]] boost::asio::awaitable<void> CountHere(Question& question, const Writes& writes);
  [[nodiscard]] boost::asio::awaitable<void> CountRange(Question& question, RangeId range,
                                                        Epoch epoch);

  NodeService& service_;
  Table* const& table_;
  Writes& writes_;
  internal::CausalToken& seen_;
  const resp::Session& session_;
  std::string replies_;
};

}  // namespace stout::node
