// The commands by which the server is a stout::Store: see resp/store/store_commands.h.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "blowfish/server/commands/stout_scan.h"
#include "blowfish/server/fan_out.h"
#include "blowfish/server/gather.h"
#include "blowfish/server/service.h"
#include "blowfish/server/shard_command.h"
#include "blowfish/server/work.h"
#include "resp/store/store_commands.h"

namespace stout::blowfish {
namespace {

// --- STOUT.SHARDS --------------------------------------------------------------------------------

void ShowShards(const resp::Call& call) {
  const Service& service = ServiceOf(call);
  resp::ReplyFacts({.shards = service.shards.size(),
                    .batch = service.batch_limits,
                    .max_value = service.limits.commands.max_bulk,
                    .tombstone_life = ShardOptions().tombstone_life,
                    .data_id = service.data_id},
                   call.reply);
}

// --- Epochs of clients ---------------------------------------------------------------------------

/// How far ahead of a shard's epochs a client may go: half of them all. So one command leaves
/// STOUT.EPOCH enough of them.
constexpr Epoch kLongestJump = Epoch{1} << 62;

bool IsTooFar(const Work& work, Epoch epoch) {
  return epoch > work.shard().max_epoch() + kLongestJump;
}

// --- STOUT.READ and STOUT.STAMPS -----------------------------------------------------------------

// The argument behind the name is the number of a shard.
std::optional<std::size_t> ShardOfRequest(Request& request, const ParseContext& context) {
  return resp::ParseShard(*request.command, request.arguments, context.shards, request.error);
}

void ParseRead(Request& request, const ParseContext& context) {
  const auto shard = ShardOfRequest(request, context);
  if (!shard) return;
  for (const std::string_view key : request.arguments.subspan(2)) {
    const std::size_t its_shard = ShardOf(key, context.shards);
    if (its_shard == *shard) continue;
    request.error = fmt::format("ERR a key belongs to shard {}, not {}", its_shard, *shard);
    return;
  }
}

// The client asks again for states that do not fit. If the read is alone in its batch, the first
// state fits, so the client gets them all.
void ReadState(Work& work, const FoundState& state) {
  const bool fits = !state.value || work.batch.Keep(state.value->size());
  work.Reply([&](resp::ReplyWriter& reply) {
    if (!fits) {
      reply.Error("TRANSIENT the values are larger than --max-replies: read this key again, alone");
    } else if (state.known) {
      resp::ReplyState(state.stamp, state.value, reply);
    } else {
      reply.Null();
    }
  });
}

Step ReadStamp(Work& work) {
  if (work.batch.writes > 0) return Step::kAfterWrites;
  const std::string_view key = work.argument(work.subrequest.argument);
  FoundState state;
  work.shard().ReadStamps(std::span(&key, 1),
                          [&](std::size_t, Stamp stamp, std::optional<std::string_view> value) {
                            state = {.known = true, .stamp = stamp};
                            if (value) state.value.emplace();
                          });
  ReadState(work, state);
  return Step::kBegun;
}

void GatherQueueAndReplies(Gather& gather) {
  gather.reply.ArrayHeader(1 + gather.subrequests.size());
  gather.reply.Integer(static_cast<std::int64_t>(gather.Queue()));
  gather.Copy();
}

// --- STOUT.SCAN ----------------------------------------------------------------------------------

void ParseScanOfStates(Request& request, const ParseContext& context) {
  const auto scan = resp::ParseStoutScan(request.arguments);
  if (!scan) {
    request.error = resp::kStoutScanSyntax;
  } else if (ShardOfRequest(request, context)) {
    request.parsed = *scan;
  }
}

// --- STOUT.WRITE ---------------------------------------------------------------------------------

// The shard's worker parses the changes, because there is one worker for each shard and one thread
// for all connections.
void ParseWrite(Request& request, const ParseContext& context) {
  (void)ShardOfRequest(request, context);
}

Step WriteStamped(Work& work) {
  // Parsed once, however often it is tried.
  std::optional<WriteBatch> changes = std::exchange(work.batch.write, std::nullopt);
  if (!changes) {
    changes.emplace();
    std::string wrong;
    if (!ParseStoutWrite(work.request().arguments, work.shard_number(), work.shards(), *changes,
                         wrong)) {
      work.Reply([&](resp::ReplyWriter& reply) { reply.Error(wrong); });
      return Step::kBegun;
    }
  }
  if (IsTooFar(work, changes->epoch)) {
    work.subrequest.written = {Errc::kRefused, {}};
    return Step::kBegun;
  }
  if (work.waits().MustWait(changes->items)) {
    work.batch.write = std::move(changes);
    return Step::kAfterPoll;
  }
  work.Count([&] {
    work.shard().Write(*changes, [work](WriteResult result) mutable {
      work.subrequest.written = std::move(result);
      work.OnWritten();
    });
  });
  return Step::kBegun;
}

void GatherWritten(Gather& gather) {
  const Subrequest& write = gather.At(gather.subrequests.front());
  if (write.reply_begin < write.reply_end) return gather.Copy();  // what is wrong with it
  resp::ReplyWritten(gather.Queue(), write.written, gather.reply);
}

// --- STOUT.EPOCH and STOUT.FENCE -----------------------------------------------------------------

Step TakeEpoch(Work& work) {
  work.Count([&] {
    work.shard().NewEpoch([work](ErrorCode failed, Epoch epoch) mutable {
      if (failed) work.subrequest.error = WriteError(Errc::kTransient);
      work.subrequest.number = static_cast<std::int64_t>(epoch);
      work.OnWritten();
    });
  });
  return Step::kBegun;
}

// The largest of all shards.
void GatherEpoch(Gather& gather) {
  Epoch largest = 0;
  for (const Batch::SubrequestId id : gather.subrequests)
    largest = std::max(largest, static_cast<Epoch>(gather.At(id).number));
  resp::ReplyEpoch(gather.Queue(), largest, gather.reply);
}

void ParseFence(Request& request, const ParseContext&) {
  const auto epoch = resp::ParseStoutFence(request.arguments);
  if (!epoch) {
    request.error = resp::kStoutFenceSyntax;
  } else {
    request.parsed = NewFence{request.arguments[1], *epoch};
  }
}

Step RaiseFence(Work& work) {
  if (IsTooFar(work, work.As<NewFence>().epoch)) {
    work.subrequest.number = static_cast<std::int64_t>(Errc::kRefused);
    return Step::kBegun;
  }
  const Scope scope(work.As<NewFence>().scope);
  if (scope == Scope() && work.waits().FenceMustWait()) return Step::kAfterPoll;
  work.Count([&] {
    work.shard().Fence(scope, work.As<NewFence>().epoch, [work](ErrorCode failed) mutable {
      work.subrequest.number = failed.value();
      work.OnWritten();
    });
  });
  return Step::kBegun;
}

// Fenced on one shard is fenced: a newer owner is there. Otherwise what did not succeed counts.
void GatherFence(Gather& gather) {
  Errc worst = Errc::kOk;
  for (const Batch::SubrequestId id : gather.subrequests) {
    const auto errc = static_cast<Errc>(gather.At(id).number);
    if (worst == Errc::kOk || errc == Errc::kFenced) worst = errc;
  }
  resp::ReplyFenced(gather.Queue(), worst, gather.reply);
}

using enum resp::CommandFlag::Bits;

// clang-format off
constexpr ShardCommand kStoutCommands[] = {
    {.command = {0, "stout.epoch", -1, kWrite | kEndsBatch, {}, 0,
                 "blowfish", "0.1.0", "Takes a new epoch."},
     .fan_out = ToAllShards, .begin = TakeEpoch, .gather = GatherEpoch, .alone = true},
    {.command = {0, "stout.fence", -1, kWrite, {}, 0,
                 "blowfish", "0.1.0", "Shuts out older epochs."},
     .parse = ParseFence, .fan_out = ToAllShards, .begin = RaiseFence, .gather = GatherFence},
    {.command = {0, "stout.read", -1, kReadonly, {}, 0,
                 "blowfish", "0.1.0", "Reads a batch with its stamps."},
     .parse = ParseRead, .fan_out = ToEachKey<2>, .read = ReadState,
     .gather = GatherQueueAndReplies},
    {.command = {0, "stout.scan", -1, kReadonly, {}, 0,
                 "blowfish", "0.1.0", "Iterates over the keys of a shard with their stamps."},
     .parse = ParseScanOfStates, .fan_out = ToNamedShard, .slice = ScanStates,
     .gather = GatherQueueAndReplies, .needs_all = true},
    {.command = {0, "stout.shards", -1, kReadonly, {}, 0,
                 "blowfish", "0.1.0", "Lists the shards.", {}, ShowShards}},
    {.command = {0, "stout.stamps", -1, kReadonly, {}, 0,
                 "blowfish", "0.1.0", "Reads the stamps of a batch of keys."},
     .parse = ParseRead, .fan_out = ToEachKey<2>, .begin = ReadStamp,
     .gather = GatherQueueAndReplies},
    {.command = {0, "stout.write", -1, kWrite | kDenyoom, {}, 0,
                 "blowfish", "0.1.0", "Writes a batch by its stamps."},
     .parse = ParseWrite, .fan_out = ToNamedShard, .begin = WriteStamped, .gather = GatherWritten},
};
// clang-format on

}  // namespace

std::span<const ShardCommand> StoutCommands() { return kStoutCommands; }

}  // namespace stout::blowfish
