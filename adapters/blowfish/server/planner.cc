#include "planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "command_list.h"
#include "resp/server/ascii.h"
#include "resp/server/command_errors.h"
#include "resp/server/command_options.h"
#include "resp/server/integer.h"
#include "resp/store/store_commands.h"
#include "search_options.h"
#include "shard_of.h"

namespace stout::blowfish {
namespace {

Spread SpreadOf(const Request& request) {
  switch (request.command->id) {
    case CommandId::kGet:
    case CommandId::kGetattr:
    case CommandId::kGetset:
    case CommandId::kSet:
    case CommandId::kSetnx:
    case CommandId::kStrlen:
    case CommandId::kType:
      return Spread::kOneKey;
    case CommandId::kMget:
      return Spread::kEachKey;
    case CommandId::kDel:
    case CommandId::kExists:
      return Spread::kSum;
    case CommandId::kFlushall:
    case CommandId::kFlushdb:
    case CommandId::kMset:
      return Spread::kAllOk;
    case CommandId::kDbsize:
    case CommandId::kGrep:
    case CommandId::kSearch:
      return Spread::kKeys;
    case CommandId::kScan:
      return Spread::kScan;
    case CommandId::kLayers:
      return request.arguments.size() > 1 ? Spread::kOneShard : Spread::kNone;
    case CommandId::kStoutWrite:
      return Spread::kWrite;
    case CommandId::kStoutRead:
      return Spread::kReadBatch;
    case CommandId::kStoutScan:
      return Spread::kStoutScan;
    case CommandId::kStoutEpoch:
      return Spread::kEpoch;
    case CommandId::kStoutFence:
      return Spread::kFence;
    default:
      return Spread::kNone;
  }
}

// SET's options that a store without clocks for keys cannot do.
std::string SetError(const Request& request) {
  const auto options = resp::ParseSetOptions(request.arguments);
  if (!options) return std::string(options.error());
  if (options->expiry) return "ERR keys do not expire here: use SET without EX, PX, EXAT and PXAT";
  return {};
}

constexpr std::string_view kNoTransactions =
    "ERR not done, because there are no transactions here: send the commands in a pipeline without "
    "one, in redis-py pipeline(transaction=False)";
constexpr std::string_view kExecAbort =
    "EXECABORT nothing was done, because there are no transactions here: send the commands in a "
    "pipeline without one";

// The commands of a transaction are in no table, so that COMMAND does not promise them. MULTI is
// answered with OK all the same: after an error a client's pool would give the connection to a user
// whose commands are all refused. Returns false if the command may be carried out.
bool RefuseTransaction(Request& request, Batch& batch) {
  const auto is = [&](std::string_view name) {
    return resp::EqualIgnoringCase(request.arguments.front(), name);
  };
  const bool inside = batch.in_transaction;
  if (!inside && request.command != nullptr) return false;
  const bool alone = request.arguments.size() == 1;
  const bool multi = is("MULTI");
  const bool exec = is("EXEC");
  if (multi || exec || is("DISCARD")) {
    const std::string_view name = multi ? "multi" : exec ? "exec" : "discard";
    if (!alone) {
      request.error = resp::WrongArityError(name);
    } else if (multi && inside) {
      request.error = "ERR MULTI calls can not be nested";
    } else if (!multi && !inside) {
      request.error = exec ? "ERR EXEC without MULTI" : "ERR DISCARD without MULTI";
    } else {
      batch.in_transaction = multi;
      request.error = exec ? kExecAbort : "";
      request.spread = Spread::kAllOk;
    }
  } else if (is("WATCH")) {
    request.error = inside ? "ERR WATCH inside MULTI is not allowed"
                           : "ERR WATCH is not supported, because transactions are not";
  } else if (inside) {
    const bool reset = is("RESET");
    if (request.command != nullptr && (is("QUIT") || reset)) {
      batch.in_transaction = !reset;
      return false;
    }
    request.error = kNoTransactions;
  } else {
    return false;
  }
  request.command = nullptr;
  return true;
}

}  // namespace

bool Planner::Add(std::span<const std::string_view> arguments, const resp::Session& session,
                  Batch& batch) const {
  Request& request = batch.requests.emplace_back();
  request.arguments = arguments;
  request.command = table_.Resolve(arguments, request.error);
  if ((batch.in_transaction || request.command == nullptr) && session.authenticated &&
      RefuseTransaction(request, batch)) {
    return true;
  }
  if (request.command == nullptr) return true;
  if (!session.authenticated && (request.command->flags & resp::CommandFlag::kNoAuth) == 0) {
    request.error = "NOAUTH Authentication required.";
    request.command = nullptr;
    return true;
  }
  request.spread = SpreadOf(request);
  Look(request);
  if (request.error.empty()) Split(batch, request);
  return (request.command->flags & resp::CommandFlag::kEndsBatch) == 0;
}

void Planner::Look(Request& request) const {
  const auto arguments = request.arguments;
  switch (request.command->id) {
    case CommandId::kSet:
      request.error = SetError(request);
      return;
    case CommandId::kMset:
      if (arguments.size() % 2 == 0) request.error = resp::WrongArityError("mset");
      return;
    case CommandId::kDbsize:
      request.count = true;
      return;
    case CommandId::kFlushall:
    case CommandId::kFlushdb:
      if (arguments.size() > 2 ||
          (arguments.size() == 2 && !resp::EqualIgnoringCase(arguments[1], "ASYNC") &&
           !resp::EqualIgnoringCase(arguments[1], "SYNC"))) {
        request.error = resp::kSyntaxError;
      }
      return;
    case CommandId::kGetattr:
      if (!schema_.Find(arguments[2])) request.error = "ERR no such attribute; see SCHEMA";
      return;
    case CommandId::kGrep:
    case CommandId::kSearch:
      return LookAtSearch(request);
    case CommandId::kScan: {
      const auto options = resp::ParseScanOptions(arguments);
      if (!options) {
        request.error = options.error();
      } else if (options->cursor != 0 && cursors_.Find(options->cursor) == nullptr) {
        request.error = "ERR the cursor is not known any more: begin again with 0";
      } else {
        request.limit = std::min(static_cast<std::uint64_t>(options->count), kMostScanned);
      }
      return;
    }
    case CommandId::kLayers:
      if (arguments.size() == 1) return;
      if (arguments.size() != 2 &&
          (arguments.size() != 4 || !resp::EqualIgnoringCase(arguments[2], "SET") ||
           !resp::ParseUnsigned(arguments[3]))) {
        request.error = resp::kSyntaxError;
      }
      return LookAtShard(request);
    case CommandId::kStoutRead:
    case CommandId::kStoutWrite:
      return LookAtShard(request);
    case CommandId::kStoutScan:
      if (!resp::ParseStoutScan(arguments)) request.error = resp::kStoutScanSyntax;
      return LookAtShard(request);
    case CommandId::kStoutFence:
      if (!resp::ParseStoutFence(arguments)) request.error = resp::kStoutFenceSyntax;
      return;
    default:
      return;
  }
}

void Planner::LookAtSearch(Request& request) const {
  const bool grep = request.command->id == CommandId::kGrep;
  const auto options =
      grep ? ParseGrepOptions(request.arguments) : ParseSearchOptions(request.arguments);
  if (!options) {
    request.error = options.error();
  } else if (!grep && !schema_.Find(request.arguments[1])) {
    request.error = "ERR no such attribute; see SCHEMA";
  } else if (options->limit.value_or(0) > kMostFound) {
    request.error = fmt::format("ERR LIMIT must be at most {}", kMostFound);
  } else {
    request.count = options->count;
    // One more than may be, where the client sets no limit: to know whether there are more.
    request.limit = options->limit.value_or(kMostFound + 1);
  }
}

// The argument behind the name is the number of a shard.
void Planner::LookAtShard(Request& request) const {
  if (!request.error.empty()) return;
  const auto shard = resp::ParseShard(*request.command, request.arguments, shards_, request.error);
  if (!shard || request.spread != Spread::kReadBatch) return;
  for (const std::string_view key : request.arguments.subspan(2)) {
    if (ShardOf(key, shards_) != *shard) {
      request.error =
          fmt::format("ERR a key belongs to shard {}, not {}", ShardOf(key, shards_), *shard);
      return;
    }
  }
}

void Planner::AddPiece(Batch& batch, Request& request, std::size_t shard,
                       std::size_t argument) const {
  std::vector<Piece>& pieces = batch.shares[shard].pieces;
  batch.order.push_back(
      {static_cast<std::uint32_t>(shard), static_cast<std::uint32_t>(pieces.size())});
  pieces.push_back({.request = static_cast<std::uint32_t>(&request - batch.requests.data()),
                    .argument = static_cast<std::uint32_t>(argument)});
  ++request.pieces;
}

void Planner::Split(Batch& batch, Request& request) const {
  const auto arguments = request.arguments;
  request.first_piece = static_cast<std::uint32_t>(batch.order.size());
  switch (request.spread) {
    case Spread::kNone:
      return;
    case Spread::kOneKey:
      return AddPiece(batch, request, ShardOf(arguments[1], shards_), 1);
    case Spread::kEachKey:
    case Spread::kSum:
      for (std::size_t i = 1; i < arguments.size(); ++i)
        AddPiece(batch, request, ShardOf(arguments[i], shards_), i);
      return;
    case Spread::kReadBatch:
      for (std::size_t i = 2; i < arguments.size(); ++i)
        AddPiece(batch, request, ShardOf(arguments[i], shards_), i);
      return;
    case Spread::kOneShard:
    case Spread::kStoutScan:
    case Spread::kWrite:
      return AddPiece(batch, request, *resp::ParseUnsigned(arguments[1]), 0);
    case Spread::kScan: {
      const auto* const place = cursors_.Find(resp::ParseScanOptions(arguments)->cursor);
      const std::size_t shard = place ? place->shard : 0;
      AddPiece(batch, request, shard, 0);
      if (place && place->after) batch.shares[shard].pieces.back().keys = {*place->after};
      return;
    }
    case Spread::kAllOk:
      if (request.command->id == CommandId::kMset) {
        std::vector<bool> concerned(shards_);
        for (std::size_t i = 1; i < arguments.size(); i += 2)
          concerned[ShardOf(arguments[i], shards_)] = true;
        for (std::size_t shard = 0; shard < shards_; ++shard) {
          if (concerned[shard]) AddPiece(batch, request, shard, 0);
        }
        return;
      }
      [[fallthrough]];
    case Spread::kKeys:
    case Spread::kEpoch:
    case Spread::kFence:
      for (std::size_t shard = 0; shard < shards_; ++shard) AddPiece(batch, request, shard, 0);
  }
}

}  // namespace stout::blowfish
