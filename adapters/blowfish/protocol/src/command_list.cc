#include "command_table.h"

namespace stout::blowfish {
namespace {

using enum CommandId;
using enum CommandFlag::Bits;
using CommandCategory::kConnection;
using CommandCategory::kDangerous;
using CommandCategory::kKeyspace;
using CommandCategory::kString;

// Combinations that recur.
constexpr unsigned kUnloaded = kLoading | kStale;
constexpr unsigned kAnyTime = kNoscript | kUnloaded;
constexpr unsigned kGreeting = kAnyTime | kFast | kNoAuth | kAllowBusy;

// Identity and arity, flags, keys, categories; group, version, summary, and arguments for HELP. For
// commands that redis has, the first line equals redis's own: a test compares.
// clang-format off
constexpr CommandSpec kCommands[] = {
    // Connections.
    {kAuth, "auth", -2, kGreeting, {}, kConnection,
     "connection", "1.0.0", "Authenticates the client."},
    {kClient, "client", -2, 0, {}, 0,
     "connection", "2.4.0", "Of the connections of clients."},
    {kClientGetname, "client|getname", 2, kAnyTime, {}, kConnection,
     "connection", "2.6.9", "Returns the name of the connection."},
    {kClientHelp, "client|help", 2, kUnloaded, {}, kConnection,
     "connection", "5.0.0", "Lists the subcommands."},
    {kClientId, "client|id", 2, kAnyTime, {}, kConnection,
     "connection", "5.0.0", "Returns the number of the connection."},
    {kClientInfo, "client|info", 2, kAnyTime, {}, kConnection,
     "connection", "6.2.0", "Describes the connection."},
    {kClientList, "client|list", -2, kAdmin | kAnyTime, {}, kConnection,
     "connection", "2.4.0", "Describes all connections."},
    {kClientSetinfo, "client|setinfo", 4, kAnyTime, {}, kConnection,
     "connection", "7.2.0", "Tells the name or version of the client library.", "LIB-NAME|LIB-VER text"},
    {kClientSetname, "client|setname", 3, kAnyTime, {}, kConnection,
     "connection", "2.6.9", "Names the connection.", "name"},
    {kEcho, "echo", 2, kUnloaded | kFast, {}, kConnection,
     "connection", "1.0.0", "Returns the given string."},
    {kHello, "hello", -1, kGreeting, {}, kConnection,
     "connection", "6.0.0", "Selects the version of the protocol."},
    {kPing, "ping", -1, kFast, {}, kConnection,
     "connection", "1.0.0", "Returns PONG, or the given string."},
    {kQuit, "quit", -1, kGreeting, {}, kConnection,
     "connection", "1.0.0", "Closes the connection."},
    {kSelect, "select", 2, kUnloaded | kFast, {}, kConnection,
     "connection", "1.0.0", "Selects a database: only number 0 exists."},
    // The server.
    {kCommand, "command", -1, kUnloaded, {}, kConnection,
     "server", "2.8.13", "Describes all commands."},
    {kCommandCount, "command|count", 2, kUnloaded, {}, kConnection,
     "server", "2.8.13", "Counts the commands."},
    {kCommandDocs, "command|docs", -2, kUnloaded, {}, kConnection,
     "server", "7.0.0", "Explains commands.", "[name ...]"},
    {kCommandHelp, "command|help", 2, kUnloaded, {}, kConnection,
     "server", "5.0.0", "Lists the subcommands."},
    {kCommandInfo, "command|info", -2, kUnloaded, {}, kConnection,
     "server", "2.8.13", "Describes commands.", "[name ...]"},
    {kCommandList, "command|list", -2, kUnloaded, {}, kConnection,
     "server", "7.0.0", "Lists the names of commands."},
    {kConfig, "config", -2, 0, {}, 0,
     "server", "2.0.0", "Of the configuration."},
    {kConfigGet, "config|get", -3, kAdmin | kAnyTime, {}, 0,
     "server", "2.0.0", "Returns the settings whose names match.", "pattern [pattern ...]"},
    {kConfigHelp, "config|help", 2, kUnloaded, {}, 0,
     "server", "5.0.0", "Lists the subcommands."},
    {kConfigResetstat, "config|resetstat", 2, kAdmin | kAnyTime, {}, 0,
     "server", "2.0.0", "Sets the counts of commands, latencies and errors to 0."},
    {kConfigSet, "config|set", -4, kAdmin | kAnyTime, {}, 0,
     "server", "2.0.0", "Changes settings.", "name value [name value ...]"},
    {kDbsize, "dbsize", 1, kReadonly | kFast, {}, kKeyspace,
     "server", "1.0.0", "Counts the keys."},
    {kFlushall, "flushall", -1, kWrite, {}, kKeyspace | kDangerous,
     "server", "1.0.0", "Removes all keys."},
    {kFlushdb, "flushdb", -1, kWrite, {}, kKeyspace | kDangerous,
     "server", "1.0.0", "Removes all keys."},
    {kInfo, "info", -1, kUnloaded, {}, kDangerous,
     "server", "1.0.0", "Returns the state of the server."},
    {kShutdown, "shutdown", -1, kAdmin | kAnyTime | kNoMulti | kAllowBusy, {}, 0,
     "server", "1.0.0", "Ends the server."},
    // Keys and their values.
    {kDel, "del", -2, kWrite, {1, -1, 1}, kKeyspace,
     "generic", "1.0.0", "Removes keys."},
    {kExists, "exists", -2, kReadonly | kFast, {1, -1, 1}, kKeyspace,
     "generic", "1.0.0", "Counts the given keys that exist."},
    {kGet, "get", 2, kReadonly | kFast, {1, 1, 1}, kString,
     "string", "1.0.0", "Returns the value of a key."},
    {kGetset, "getset", 3, kWrite | kDenyoom | kFast, {1, 1, 1}, kString,
     "string", "1.0.0", "Sets a key and returns the value that it had."},
    {kMget, "mget", -2, kReadonly | kFast, {1, -1, 1}, kString,
     "string", "1.0.0", "Returns the values of keys."},
    {kMset, "mset", -3, kWrite | kDenyoom, {1, -1, 2}, kString,
     "string", "1.0.1", "Sets keys."},
    {kScan, "scan", -2, kReadonly, {}, kKeyspace,
     "generic", "2.8.0", "Iterates over all keys."},
    {kSet, "set", -3, kWrite | kDenyoom, {1, 1, 1}, kString,
     "string", "1.0.0", "Sets a key."},
    {kSetnx, "setnx", 3, kWrite | kDenyoom | kFast, {1, 1, 1}, kString,
     "string", "1.0.0", "Sets a key only if it does not exist."},
    {kStrlen, "strlen", 2, kReadonly | kFast, {1, 1, 1}, kString,
     "string", "2.2.0", "Returns the size of the value of a key."},
    {kType, "type", 2, kReadonly | kFast, {1, 1, 1}, kKeyspace,
     "generic", "1.0.0", "Returns string, or none if the key does not exist."},
    // Commands that redis does not have: attributes, and the shards that hold them.
    {kGetattr, "getattr", 3, kReadonly | kFast, {1, 1, 1}, kString,
     "blowfish", "0.1.0", "Returns an attribute of a key: GETATTR key attribute."},
    {kGrep, "grep", -2, kReadonly, {}, 0,
     "blowfish", "0.1.0", "Finds keys by a part of a value: GREP substring [LIMIT n] [COUNT]."},
    {kLayers, "layers", -1, kAdmin, {}, 0,
     "blowfish", "0.1.0", "Shows or sets the number of layers: LAYERS [shard [SET n]]."},
    {kSchema, "schema", -1, kAdmin, {}, 0,
     "blowfish", "0.1.0", "Returns the delimiter of values and the names of their attributes."},
    {kSearch, "search", -3, kReadonly, {}, 0,
     "blowfish", "0.1.0", "Finds keys: SEARCH attribute value [PREFIX] [LIMIT n] [COUNT]."},
    // How stout::Store writes here.
    {kStoutEpoch, "stout.epoch", -1, kWrite, {}, 0,
     "blowfish", "0.1.0", "Takes a new epoch."},
    {kStoutFence, "stout.fence", -1, kWrite, {}, 0,
     "blowfish", "0.1.0", "Shuts out older epochs."},
    {kStoutRead, "stout.read", -1, kReadonly, {}, 0,
     "blowfish", "0.1.0", "Reads a batch with its stamps."},
    {kStoutScan, "stout.scan", -1, kReadonly, {}, 0,
     "blowfish", "0.1.0", "Iterates over the keys of a shard with their stamps."},
    {kStoutShards, "stout.shards", -1, kReadonly, {}, 0,
     "blowfish", "0.1.0", "Lists the shards."},
    {kStoutWrite, "stout.write", -1, kWrite | kDenyoom, {}, 0,
     "blowfish", "0.1.0", "Writes a batch by its stamps."},
};
// clang-format on

}  // namespace

std::span<const CommandSpec> CommandList() { return kCommands; }

}  // namespace stout::blowfish
