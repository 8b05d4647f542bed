#include "node/commands.h"

namespace stout::node {
namespace {

using enum CommandId::Number;
using enum resp::CommandFlag::Bits;
using resp::CommandCategory::kKeyspace;
using resp::CommandCategory::kString;

// As in adapters/resp/src/resp/server/session_commands.cc: the first line of each row equals
// redis's.
// clang-format off
constexpr resp::Command kCommands[] = {
    {kDel, "del", -2, kWrite, {1, -1, 1}, kKeyspace,
     "generic", "1.0.0", "Removes keys."},
    {kExists, "exists", -2, kReadonly | kFast, {1, -1, 1}, kKeyspace,
     "generic", "1.0.0", "Counts the given keys that exist."},
    {kGet, "get", 2, kReadonly | kFast, {1, 1, 1}, kString,
     "string", "1.0.0", "Returns the value of a key."},
    {kIncr, "incr", 2, kWrite | kDenyoom | kFast, {1, 1, 1}, kString,
     "string", "1.0.0", "Adds 1 to the number that is the value of a key."},
    {kMget, "mget", -2, kReadonly | kFast, {1, -1, 1}, kString,
     "string", "1.0.0", "Returns the values of keys."},
    {kMset, "mset", -3, kWrite | kDenyoom, {1, -1, 2}, kString,
     "string", "1.0.1", "Sets keys."},
    {kSet, "set", -3, kWrite | kDenyoom, {1, 1, 1}, kString,
     "string", "1.0.0", "Sets a key."},
    {kStrlen, "strlen", 2, kReadonly | kFast, {1, 1, 1}, kString,
     "string", "2.2.0", "Returns the size of the value of a key."},
};
// clang-format on

}  // namespace

std::span<const resp::Command> KeyCommands() { return kCommands; }

}  // namespace stout::node
