#include "node/commands.h"

namespace stout::node {
namespace {

using enum CommandId::Number;
using enum resp::CommandFlag::Bits;
using resp::CommandCategory::kDangerous;
using resp::CommandCategory::kKeyspace;
using resp::CommandCategory::kString;
using resp::CommandCategory::kTransaction;

// As in adapters/resp/src/resp/server/session_commands.cc: the first line of each row equals
// redis's.
// clang-format off
constexpr resp::Command kCommands[] = {
    {kAppend, "append", 3, kWrite | kDenyoom | kFast, {1, 1, 1}, kString,
     "string", "2.0.0", "Appends a string to the value of a key."},
    {kDecr, "decr", 2, kWrite | kDenyoom | kFast, {1, 1, 1}, kString,
     "string", "1.0.0", "Subtracts 1 from the number that is the value of a key."},
    {kDecrby, "decrby", 3, kWrite | kDenyoom | kFast, {1, 1, 1}, kString,
     "string", "1.0.0", "Subtracts a number from the number that is the value of a key."},
    {kDel, "del", -2, kWrite, {1, -1, 1}, kKeyspace,
     "generic", "1.0.0", "Removes keys."},
    {kExists, "exists", -2, kReadonly | kFast, {1, -1, 1}, kKeyspace,
     "generic", "1.0.0", "Counts the given keys that exist."},
    {kGet, "get", 2, kReadonly | kFast, {1, 1, 1}, kString,
     "string", "1.0.0", "Returns the value of a key."},
    {kGetdel, "getdel", 2, kWrite | kFast, {1, 1, 1}, kString,
     "string", "6.2.0", "Returns the value of a key and removes the key."},
    {kGetset, "getset", 3, kWrite | kDenyoom | kFast, {1, 1, 1}, kString,
     "string", "1.0.0", "Sets a key and returns the value that it had."},
    {kIncr, "incr", 2, kWrite | kDenyoom | kFast, {1, 1, 1}, kString,
     "string", "1.0.0", "Adds 1 to the number that is the value of a key."},
    {kIncrby, "incrby", 3, kWrite | kDenyoom | kFast, {1, 1, 1}, kString,
     "string", "1.0.0", "Adds a number to the number that is the value of a key."},
    {kMget, "mget", -2, kReadonly | kFast, {1, -1, 1}, kString,
     "string", "1.0.0", "Returns the values of keys."},
    {kMset, "mset", -3, kWrite | kDenyoom, {1, -1, 2}, kString,
     "string", "1.0.1", "Sets keys."},
    {kSet, "set", -3, kWrite | kDenyoom, {1, 1, 1}, kString,
     "string", "1.0.0", "Sets a key."},
    {kSetnx, "setnx", 3, kWrite | kDenyoom | kFast, {1, 1, 1}, kString,
     "string", "1.0.0", "Sets a key only if it does not exist."},
    {kStrlen, "strlen", 2, kReadonly | kFast, {1, 1, 1}, kString,
     "string", "2.2.0", "Returns the size of the value of a key."},
    {kType, "type", 2, kReadonly | kFast, {1, 1, 1}, kKeyspace,
     "generic", "1.0.0", "Returns string, or none if the key does not exist."},
    {kUnlink, "unlink", -2, kWrite | kFast, {1, -1, 1}, kKeyspace,
     "generic", "4.0.0", "Removes keys."},
    // All keys.
    {kDbsize, "dbsize", 1, kReadonly | kFast, {}, kKeyspace,
     "server", "1.0.0", "Counts the keys."},
    {kFlushall, "flushall", -1, kWrite, {}, kKeyspace | kDangerous,
     "server", "1.0.0", "Removes all keys."},
    {kFlushdb, "flushdb", -1, kWrite, {}, kKeyspace | kDangerous,
     "server", "1.0.0", "Removes all keys."},
    {kScan, "scan", -2, kReadonly, {}, kKeyspace,
     "generic", "2.8.0", "Iterates over all keys."},
    // Transactions.
    {kDiscard, "discard", 1, kNoscript | kLoading | kStale | kFast | kAllowBusy, {}, kTransaction,
     "transactions", "2.0.0", "Discards the commands since MULTI."},
    {kExec, "exec", 1, kNoscript | kLoading | kStale | kSkipSlowlog, {}, kTransaction,
     "transactions", "1.2.0", "Runs the commands since MULTI."},
    {kMulti, "multi", 1, kNoscript | kLoading | kStale | kFast | kAllowBusy, {}, kTransaction,
     "transactions", "1.2.0", "Begins a transaction."},
    {kUnwatch, "unwatch", 1, kNoscript | kLoading | kStale | kFast | kAllowBusy, {}, kTransaction,
     "transactions", "2.2.0", "Watches no key any more."},
    {kWatch, "watch", -2, kNoscript | kLoading | kStale | kFast | kAllowBusy, {1, -1, 1}, kTransaction,
     "transactions", "2.2.0", "Has EXEC run nothing if one of these keys changes before it."},
};
// clang-format on

}  // namespace

std::span<const resp::Command> KeyCommands() { return kCommands; }

}  // namespace stout::node
