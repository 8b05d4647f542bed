#pragma once

#include <cstdint>
#include <string_view>

#include "resp/server/command.h"

namespace stout::resp {

/// Returns the row of one of redis's commands on keys, under the program's number for it. Does not
/// compile for a name that is not in the list.
///
///     constexpr Command kCommands[] = {RedisCommand(kGet, "get"), RedisCommand(kSet, "set")};
[[nodiscard]] consteval Command RedisCommand(std::uint8_t id, std::string_view name);

namespace internal {

using enum CommandFlag::Bits;
using CommandCategory::kDangerous;
using CommandCategory::kKeyspace;
using CommandCategory::kString;
using CommandCategory::kTransaction;

// Name and arity, flags, keys, categories; group, version, summary. The first line equals redis's
// own: tests of the programs compare.
// clang-format off
inline constexpr Command kRedisCommands[] = {
    {0, "append", 3, kWrite | kDenyoom | kFast, {1, 1, 1}, kString,
     "string", "2.0.0", "Appends a string to the value of a key."},
    {0, "dbsize", 1, kReadonly | kFast, {}, kKeyspace,
     "server", "1.0.0", "Counts the keys."},
    {0, "decr", 2, kWrite | kDenyoom | kFast, {1, 1, 1}, kString,
     "string", "1.0.0", "Subtracts 1 from the number that is the value of a key."},
    {0, "decrby", 3, kWrite | kDenyoom | kFast, {1, 1, 1}, kString,
     "string", "1.0.0", "Subtracts a number from the number that is the value of a key."},
    {0, "del", -2, kWrite, {1, -1, 1}, kKeyspace,
     "generic", "1.0.0", "Removes keys."},
    {0, "discard", 1, kNoscript | kLoading | kStale | kFast | kAllowBusy, {}, kTransaction,
     "transactions", "2.0.0", "Discards the commands since MULTI."},
    {0, "exec", 1, kNoscript | kLoading | kStale | kSkipSlowlog, {}, kTransaction,
     "transactions", "1.2.0", "Runs the commands since MULTI."},
    {0, "exists", -2, kReadonly | kFast, {1, -1, 1}, kKeyspace,
     "generic", "1.0.0", "Counts the given keys that exist."},
    {0, "expire", -3, kWrite | kFast, {1, 1, 1}, kKeyspace,
     "generic", "1.0.0", "Sets the time to live of a key, in seconds."},
    {0, "expireat", -3, kWrite | kFast, {1, 1, 1}, kKeyspace,
     "generic", "1.2.0", "Sets the time at which a key expires, in seconds of Unix time."},
    {0, "expiretime", 2, kReadonly | kFast, {1, 1, 1}, kKeyspace,
     "generic", "7.0.0", "Returns the time at which a key expires, in seconds of Unix time."},
    {0, "flushall", -1, kWrite, {}, kKeyspace | kDangerous,
     "server", "1.0.0", "Removes all keys."},
    {0, "flushdb", -1, kWrite, {}, kKeyspace | kDangerous,
     "server", "1.0.0", "Removes all keys."},
    {0, "get", 2, kReadonly | kFast, {1, 1, 1}, kString,
     "string", "1.0.0", "Returns the value of a key."},
    {0, "getdel", 2, kWrite | kFast, {1, 1, 1}, kString,
     "string", "6.2.0", "Returns the value of a key and removes the key."},
    {0, "getex", -2, kWrite | kFast, {1, 1, 1}, kString,
     "string", "6.2.0", "Returns the value of a key and sets when it expires."},
    {0, "getrange", 4, kReadonly, {1, 1, 1}, kString,
     "string", "2.4.0", "Returns a part of the value of a key."},
    {0, "getset", 3, kWrite | kDenyoom | kFast, {1, 1, 1}, kString,
     "string", "1.0.0", "Sets a key and returns the value that it had."},
    {0, "incr", 2, kWrite | kDenyoom | kFast, {1, 1, 1}, kString,
     "string", "1.0.0", "Adds 1 to the number that is the value of a key."},
    {0, "incrby", 3, kWrite | kDenyoom | kFast, {1, 1, 1}, kString,
     "string", "1.0.0", "Adds a number to the number that is the value of a key."},
    {0, "mget", -2, kReadonly | kFast, {1, -1, 1}, kString,
     "string", "1.0.0", "Returns the values of keys."},
    {0, "mset", -3, kWrite | kDenyoom, {1, -1, 2}, kString,
     "string", "1.0.1", "Sets keys."},
    {0, "multi", 1, kNoscript | kLoading | kStale | kFast | kAllowBusy, {}, kTransaction,
     "transactions", "1.2.0", "Begins a transaction."},
    {0, "persist", 2, kWrite | kFast, {1, 1, 1}, kKeyspace,
     "generic", "2.2.0", "Removes the time at which a key expires."},
    {0, "pexpire", -3, kWrite | kFast, {1, 1, 1}, kKeyspace,
     "generic", "2.6.0", "Sets the time to live of a key, in milliseconds."},
    {0, "pexpireat", -3, kWrite | kFast, {1, 1, 1}, kKeyspace,
     "generic", "2.6.0", "Sets the time at which a key expires, in milliseconds of Unix time."},
    {0, "pexpiretime", 2, kReadonly | kFast, {1, 1, 1}, kKeyspace,
     "generic", "7.0.0", "Returns the time at which a key expires, in milliseconds of Unix time."},
    {0, "psetex", 4, kWrite | kDenyoom, {1, 1, 1}, kString,
     "string", "2.6.0", "Sets a key and its time to live, in milliseconds."},
    {0, "pttl", 2, kReadonly | kFast, {1, 1, 1}, kKeyspace,
     "generic", "2.6.0", "Returns the time to live of a key, in milliseconds."},
    {0, "scan", -2, kReadonly, {}, kKeyspace,
     "generic", "2.8.0", "Iterates over all keys."},
    {0, "set", -3, kWrite | kDenyoom, {1, 1, 1}, kString,
     "string", "1.0.0", "Sets a key."},
    {0, "setex", 4, kWrite | kDenyoom, {1, 1, 1}, kString,
     "string", "2.0.0", "Sets a key and its time to live, in seconds."},
    {0, "setnx", 3, kWrite | kDenyoom | kFast, {1, 1, 1}, kString,
     "string", "1.0.0", "Sets a key only if it does not exist."},
    {0, "strlen", 2, kReadonly | kFast, {1, 1, 1}, kString,
     "string", "2.2.0", "Returns the size of the value of a key."},
    {0, "substr", 4, kReadonly, {1, 1, 1}, kString,
     "string", "1.0.0", "Returns a part of the value of a key."},
    {0, "ttl", 2, kReadonly | kFast, {1, 1, 1}, kKeyspace,
     "generic", "1.0.0", "Returns the time to live of a key, in seconds."},
    {0, "type", 2, kReadonly | kFast, {1, 1, 1}, kKeyspace,
     "generic", "1.0.0", "Returns string, or none if the key does not exist."},
    {0, "unlink", -2, kWrite | kFast, {1, -1, 1}, kKeyspace,
     "generic", "4.0.0", "Removes keys."},
    {0, "unwatch", 1, kNoscript | kLoading | kStale | kFast | kAllowBusy, {}, kTransaction,
     "transactions", "2.2.0", "Watches no key any more."},
    {0, "watch", -2, kNoscript | kLoading | kStale | kFast | kAllowBusy, {1, -1, 1}, kTransaction,
     "transactions", "2.2.0", "Has EXEC run nothing if one of these keys changes before it."},
};
// clang-format on

}  // namespace internal

consteval Command RedisCommand(std::uint8_t id, std::string_view name) {
  for (const Command& command : internal::kRedisCommands) {
    if (command.name != name) continue;
    Command numbered = command;
    numbered.id = id;
    return numbered;
  }
  throw "no such command";
}

}  // namespace stout::resp
