#include "node/datalet_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <new>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "node/commands.h"
#include "node/run_together.h"
#include "resp/server/command_errors.h"
#include "resp/store/batch_limits.h"
#include "resp/store/store_commands.h"
#include "stout/adapters/scan_page.h"

namespace stout::node {
namespace {

namespace asio = boost::asio;

/// Memory for replies that an idle client may hold.
constexpr std::size_t kDataletRepliesKept = std::size_t{64} << 10;
/// Commands at once of one client, and values of one command, so that memory is bounded.
constexpr std::size_t kTogether = 8;
constexpr std::size_t kReadBytes = std::size_t{16} << 20;
/// Keys that the datalet is asked for before the size of values is known.
constexpr std::size_t kFirstRead = 16;
/// A state takes at most this many bytes in a reply beside its value.
constexpr std::size_t kStateRoom = 64;

constexpr std::string_view kNoDatalet =
    "ERR this node serves no datalet: start it with --datalet rocksdb:DIR";
constexpr std::string_view kUnsuitable =
    "ERR this node's datalet cannot be served: it needs stamps, fences, atomic batches, any "
    "values, and scans in order";

// The reply to a call that the datalet could not carry out.
std::string DataletError(Errc errc) {
  const std::string_view code = errc == Errc::kTransient ? "TRYAGAIN" : resp::OutcomeName(errc);
  return fmt::format("{} the datalet: {}", code, Describe(errc));
}

// Returns the problem that all of the commands have, or "".
std::string_view WhyNotServed(const NodeService& service) {
  if (service.datalet == nullptr) return kNoDatalet;
  return CanBeServed(service.datalet->traits()) ? "" : kUnsuitable;
}

// A batch within these limits fits --max-request, and the datalet takes it.
resp::BatchLimits LimitsOf(const NodeService& service) {
  resp::BatchLimits limits = resp::BatchLimitsOf(service.InputLimits());
  limits.items = std::min(limits.items, service.datalet->traits().max_batch_items);
  limits.bytes = std::min(limits.bytes, service.datalet->traits().max_batch_bytes);
  return limits;
}

void ShowShards(const resp::Call& call) {
  const auto& service = static_cast<const NodeService&>(call.service);
  if (const auto why = WhyNotServed(service); !why.empty()) return call.reply.Error(why);
  const StoreTraits& traits = service.datalet->traits();
  resp::ReplyFacts(
      {.shards = 1,
       .batch = LimitsOf(service),
       .max_value = service.InputLimits().max_bulk,
       .tombstone_life = std::chrono::floor<std::chrono::milliseconds>(traits.tombstone_ttl),
       .data_id = traits.durable ? service.data_id : service.boot_id,
       .durable = traits.durable},
      call.reply);
}

std::size_t BytesOf(const StoredState& state) { return kStateRoom + state.value.size(); }

std::size_t BytesOf(const std::vector<ScannedKey>& page) {
  std::size_t bytes = 0;
  for (const ScannedKey& scanned : page) bytes += scanned.key.size() + BytesOf(scanned.state);
  return bytes;
}

void ReplyStateOf(const StoredState& state, resp::ReplyWriter& reply) {
  if (state.errc != Errc::kOk) {
    return reply.Error(
        fmt::format("{} the datalet: {}", resp::OutcomeName(state.errc), Describe(state.errc)));
  }
  if (!state.found && state.stamp == Stamp()) return reply.Null();
  resp::ReplyState(state.stamp,
                   state.found ? std::optional<std::string_view>(state.value) : std::nullopt,
                   reply);
}

using enum CommandId::Number;
using enum resp::CommandFlag::Bits;

// clang-format off
constexpr KeyCommand kDataletRows[] = {
    {{kStoutEpoch, "stout.epoch", 1, kWrite | kNoMulti, {}, 0,
      "cluster", "0.1.0", "Takes a new epoch of the node's datalet."}},
    {{kStoutFence, "stout.fence", 3, kWrite | kNoMulti, {}, 0,
      "cluster", "0.1.0", "Shuts older epochs of a scope out of the node's datalet."}},
    {{kStoutRead, "stout.read", -2, kReadonly | kNoMulti, {}, 0,
      "cluster", "0.1.0", "Reads keys of the node's datalet with their stamps."}},
    {{kStoutScan, "stout.scan", -4, kReadonly | kNoMulti, {}, 0,
      "cluster", "0.1.0", "Iterates over the keys of the node's datalet with their stamps."}},
    {{kStoutShards, "stout.shards", 1, kReadonly | kNoMulti, {}, 0,
      "cluster", "0.1.0", "Describes the node's datalet.", {}, ShowShards}},
    {{kStoutStamps, "stout.stamps", -2, kReadonly | kNoMulti, {}, 0,
      "cluster", "0.1.0", "Reads the stamps of keys of the node's datalet."}},
    {{kStoutWrite, "stout.write", -4, kWrite | kDenyoom | kNoMulti, {}, 0,
      "cluster", "0.1.0", "Writes a batch to the node's datalet by its stamps."}},
};
// clang-format on

}  // namespace

std::span<const KeyCommand> DataletRows() { return kDataletRows; }

bool CanBeServed(const StoreTraits& traits) {
  return traits.compares_stamps && traits.fences && traits.atomic_batches && traits.scans &&
         traits.ordered && traits.opaque_values;
}

void DataletCommands::Clear() {
  replies_.clear();
  if (replies_.capacity() > kDataletRepliesKept) replies_.shrink_to_fit();
}

void DataletCommands::Check(Request& request) const {
  request.error = WhyNotServed(service_);
  if (!request.error.empty()) return;
  const int id = request.command->id;
  if (id == kStoutScan && !resp::ParseStoutScan(request.arguments)) {
    request.error = resp::kStoutScanSyntax;
  } else if (id == kStoutFence && !resp::ParseStoutFence(request.arguments)) {
    request.error = resp::kStoutFenceSyntax;
  } else if (id != kStoutEpoch && id != kStoutFence) {
    (void)resp::ParseShard(*request.command, request.arguments, 1, request.error);
  }
}

asio::awaitable<void> DataletCommands::Run(std::span<Request> requests) {
  std::vector<asio::awaitable<void>> all;
  for (Request& request : requests) {
    Check(request);
    if (request.error.empty()) all.push_back(RunOne(request));
    if (all.size() == kTogether) co_await RunTogether(std::exchange(all, {}));
  }
  if (!all.empty()) co_await RunTogether(std::move(all));
}

asio::awaitable<void> DataletCommands::RunOne(Request& request) {
  switch (request.command->id) {
    case kStoutWrite:
      return Write(request);
    case kStoutRead:
    case kStoutStamps:
      return Read(request);
    case kStoutScan:
      return Scan(request);
    case kStoutFence:
      return Fence(request);
    default:
      return TakeEpoch(request);
  }
}

template <typename Encode>
void DataletCommands::Reply(Request& request, std::size_t bytes, Encode encode) {
  if (replies_.size() + bytes > service_.limits.max_replies) {
    request.error = kRepliesTooLarge;
    return;
  }
  request.replies = &replies_;
  request.reply_begin = replies_.size();
  resp::ReplyWriter reply(replies_, session_.version);
  encode(reply);
  request.reply_end = replies_.size();
}

asio::awaitable<void> DataletCommands::Write(Request& request) {
  WriteBatch batch;
  try {
    if (!resp::ParseStoutWrite(request.arguments, batch, request.error)) co_return;
  } catch (const std::bad_alloc&) {
    request.error = resp::kNoMemory;
    co_return;
  }
  const WriteResult result = co_await service_.datalet->AsyncWrite(batch, asio::use_awaitable);
  Reply(request, 0, [&](resp::ReplyWriter& reply) { resp::ReplyWritten(0, result, reply); });
}

asio::awaitable<void> DataletCommands::Read(Request& request) {
  try {
    const resp::Arguments keys = request.arguments.subspan(2);
    const std::size_t taken = replies_.size() + kStateRoom * keys.size();
    const std::size_t room =
        service_.limits.max_replies - std::min(service_.limits.max_replies, taken);
    std::vector<StoredState> states;
    std::size_t bytes = 0;
    std::size_t queue = 0;
    while (states.size() < keys.size() && (states.empty() || bytes < kReadBytes)) {
      // As many as should fit, by the size of those before.
      const std::size_t most =
          states.empty() ? kFirstRead : 1 + (kReadBytes - bytes) / (bytes / states.size());
      const auto slice = keys.subspan(states.size(), std::min(most, keys.size() - states.size()));
      ReadBatch batch;
      batch.keys.assign(slice.begin(), slice.end());
      batch.values = request.command->id == kStoutRead;
      if (request.tenant != 0) batch.tenants.assign(slice.size(), request.tenant);
      ReadResult result = co_await service_.datalet->AsyncRead(batch, asio::use_awaitable);
      if (result.errc != Errc::kOk) {
        request.error = DataletError(result.errc);
        co_return;
      }
      queue = result.queue;
      for (StoredState& state : result.states) {
        if (!batch.values) state.value.clear();
        bytes += BytesOf(state);
        states.push_back(std::move(state));
      }
    }
    // The caller asks again for the states that do not fit. There is always one, or it asked for
    // nothing that this node can answer.
    while (states.size() > 1 && bytes > room) {
      bytes -= BytesOf(states.back());
      states.pop_back();
    }
    Reply(request, bytes + kStateRoom * (keys.size() - states.size()),
          [&](resp::ReplyWriter& reply) {
            reply.ArrayHeader(1 + keys.size());
            reply.Integer(static_cast<std::int64_t>(queue + keys.size()));
            for (const StoredState& state : states) ReplyStateOf(state, reply);
            for (std::size_t i = states.size(); i < keys.size(); ++i) {
              ReplyStateOf({.errc = Errc::kTransient}, reply);
            }
          });
  } catch (const std::bad_alloc&) {
    request.error = resp::kNoMemory;
  }
}

asio::awaitable<void> DataletCommands::Scan(Request& request) {
  try {
    const resp::StoutScan scan = *resp::ParseStoutScan(request.arguments);
    ScanRequest page{.cursor = scan.after ? CursorBehind(*scan.after) : "",
                     .limit = scan.limit,
                     .values = scan.values};
    ScanResult result;
    do {  // An answer that goes on needs a key to go on behind.
      result = co_await service_.datalet->AsyncScan(page, asio::use_awaitable);
      page.cursor = result.cursor;
    } while (result.errc == Errc::kOk && result.keys.empty() && !result.cursor.empty());
    if (result.errc != Errc::kOk) {
      request.error = DataletError(result.errc);
      co_return;
    }
    Reply(request, BytesOf(result.keys), [&](resp::ReplyWriter& reply) {
      reply.ArrayHeader(2);
      reply.Integer(0);
      reply.ArrayHeader(1 + 2 * result.keys.size());
      reply.Integer(result.cursor.empty() ? 0 : 1);
      for (const ScannedKey& scanned : result.keys) {
        reply.BulkString(scanned.key);
        ReplyStateOf(scanned.state, reply);
      }
    });
  } catch (const std::bad_alloc&) {
    request.error = resp::kNoMemory;
  }
}

asio::awaitable<void> DataletCommands::TakeEpoch(Request& request) {
  const auto [failed, epoch] =
      co_await service_.datalet->AsyncNewEpoch(asio::as_tuple(asio::use_awaitable));
  if (failed) {
    request.error = DataletError(ErrcOf(failed));
    co_return;
  }
  const Epoch taken = epoch;
  Reply(request, 0, [&](resp::ReplyWriter& reply) { resp::ReplyEpoch(0, taken, reply); });
}

asio::awaitable<void> DataletCommands::Fence(Request& request) {
  const Epoch epoch = *resp::ParseStoutFence(request.arguments);
  const auto [failed] = co_await service_.datalet->AsyncFence(Scope(request.arguments[1]), epoch,
                                                              asio::as_tuple(asio::use_awaitable));
  const Errc errc = ErrcOf(failed);
  Reply(request, 0, [&](resp::ReplyWriter& reply) { resp::ReplyFenced(0, errc, reply); });
}

}  // namespace stout::node
