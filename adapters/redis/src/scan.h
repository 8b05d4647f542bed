#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "connection.h"
#include "layout.h"
#include "stout/core/batch.h"

namespace stout::redis {

// The place of a scan: how far it is at one server, and in a cluster in which slots.
//
// A cursor of Redis is good for one process only, because the order of keys depends on its random
// hash. Therefore a scan that meets another process begins that server anew.
struct ScanPlace {
  std::string server{};             // identifies the process; empty: none yet
  std::string position = "0";       // SCAN's cursor; empty: the server is at its end
  std::string done{};               // a cluster: slots that are at their end, as SlotSet::Print()
  std::string scanning{};           // a cluster: slots of the scan under way at `server`
  std::vector<std::string> keys{};  // found, and not returned yet

  // `kind` tells cursors of different stores apart. Returns nullopt for bytes that are no cursor.
  [[nodiscard]] static std::optional<ScanPlace> Decode(char kind, std::string_view cursor);
  [[nodiscard]] std::string Encode(char kind) const;

  // Takes the answers to INFO and SCAN, which came from the process `process`. Returns SCAN's keys.
  // Returns no keys and goes to the start if the place is in another process. Returns nullopt if
  // the answer is malformed.
  [[nodiscard]] std::optional<std::vector<std::string>> Advance(std::string process, Reply scan);
};

// Asks for a process's identity, for ScanPlace::server.
void AppendAskForProcess(Commands* commands);
// Reads the answer. Empty: it has none.
[[nodiscard]] std::string ProcessOf(const Reply& info);
// The error of a page after this answer: kRefused if the server will never allow the command.
[[nodiscard]] Errc ErrorOf(const Reply& error);

// Keys that one SCAN looks at.
[[nodiscard]] std::size_t CountOf(const ScanRequest& request);

// Executes the query for each key and returns the replies, or none if that failed.
using AskForEach = std::function<boost::asio::awaitable<std::vector<Reply>>(
    KeyQuery query, const std::vector<std::string>& keys)>;

// Reads the states of the first of `place->keys`, as many as a page takes, and removes these keys.
// The answer has no cursor. All arguments must outlive the call.
[[nodiscard]] boost::asio::awaitable<ScanResult> ReadFound(const Layout& layout,
                                                           const AskForEach& ask,
                                                           const ScanRequest& request,
                                                           ScanPlace* place);

// A page from one server.
[[nodiscard]] boost::asio::awaitable<ScanResult> Scan(Connection& connection, const Layout& layout,
                                                      ScanRequest request, ScanPlace place);

}  // namespace stout::redis
