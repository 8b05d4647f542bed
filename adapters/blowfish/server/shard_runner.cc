#include "shard_runner.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "command_list.h"
#include "error_of_exception.h"
#include "log_format.h"
#include "resp/server/command_options.h"
#include "resp/server/integer.h"
#include "resp/store/store_commands.h"
#include "search_options.h"
#include "shard_of.h"

namespace stout::blowfish {
namespace {

/// Up to this number of reads, each takes the way of a single attribute. A walk to it takes 1.0 to
/// 2.7 us. A whole record takes 2 to 9.6 us alone, but about 1 us if 16 are read in lock step. The
/// number in between is a guess.
constexpr std::size_t kFewReads = 3;

void WriteValue(resp::ReplyWriter& reply, std::optional<std::string_view> value) {
  if (value) {
    reply.BulkString(*value);
  } else {
    reply.Null();
  }
}

resp::SetOptions OptionsOf(const Request& request) {
  switch (request.command->id) {
    case CommandId::kSetnx:
      return {.condition = resp::SetOptions::Condition::kIfAbsent};
    case CommandId::kGetset:
      return {.get = true};
    default:
      return *resp::ParseSetOptions(request.arguments);  // The planner has looked at it.
  }
}

}  // namespace

ShardRunner::ShardRunner(Shard& shard, std::size_t number, std::size_t shards, Worker worker)
    : shard_(shard),
      number_(number),
      shards_(shards),
      worker_(std::move(worker)),
      turns_(shard, worker_.now, *worker_.read_time) {}

void ShardRunner::Add(Share& share) {
  ++open_;
  try {
    for (auto* const list : {&ready_, &pending_, &late_, &running_}) {
      if (list->capacity() < open_) list->reserve(2 * open_);
    }
    turns_.Reserve(open_);
  } catch (const std::bad_alloc&) {
    share.Refuse(kNoMemory);
    return EndIfDone(share);
  }
  ready_.push_back(&share);
}

void ShardRunner::Run() {
  // Shares that have waited come first.
  ready_.insert(ready_.begin(), pending_.begin(), pending_.end());
  pending_.clear();
  plain_wait_ = fence_first_ = false;
  if (!claimed_.empty()) claimed_.clear();
  RunReady();
  turns_.Take([this](Share& share) {
    ready_.push_back(&share);
    RunReady();
  });
  pending_.insert(pending_.end(), late_.begin(), late_.end());
  late_.clear();
}

void ShardRunner::RunReady() {
  while (!ready_.empty()) {
    std::swap(running_, ready_);
    ready_.clear();
    for (Share* const share : running_) Advance(*share);
    ReadAllGathered();
  }
}

void ShardRunner::Advance(Share& share) {
  const std::size_t first = share.next;
  while (!share.begun()) {
    switch (TryToBegin(share, share.pieces[share.next])) {
      case Step::kBegun:
        ++share.next;
        break;
      case Step::kAfterWrites:
        if (share.writes == 0) break;  // It was answered at once.
        share.waits = true;
        return;
      case Step::kAfterPoll:
        (share.next == first ? pending_ : late_).push_back(&share);
        return;
      case Step::kInTurn:
        turns_.Add(share);
        return;
    }
  }
  EndIfDone(share);
}

ShardRunner::Step ShardRunner::TryToBegin(Share& share, Piece& piece) {
  try {
    return Begin(share, piece);
  } catch (const std::exception&) {
    // Nor is what the same command has behind it begun.
    const std::string_view why = ErrorOfException();
    const auto pieces = OfSameRequest(share);
    for (Piece& each : pieces) each.error = why;
    share.next += pieces.size() - 1;
    turns_.CloseSearch(share);
    return Step::kBegun;
  }
}

void ShardRunner::EndIfDone(Share& share) noexcept {
  if (!share.begun() || share.reads > 0) return;
  if (share.writes > 0) {
    share.waits = true;
    return;
  }
  share.queue = worker_.queue();
  --open_;
  worker_.done(share);
}

void ShardRunner::OnWritten(Share& share) {
  if (--share.writes == 0 && std::exchange(share.waits, false)) ready_.push_back(&share);
}

std::span<Piece> ShardRunner::OfSameRequest(Share& share) {
  const std::span<Piece> pieces = std::span(share.pieces).subspan(share.next);
  const auto other = std::ranges::find_if(
      pieces, [&](const Piece& piece) { return piece.request != pieces.front().request; });
  return pieces.first(static_cast<std::size_t>(other - pieces.begin()));
}

template <typename Encode>
void ShardRunner::Reply(Share& share, Piece& piece, Encode encode) {
  piece.reply_begin = share.replies.size();
  resp::ReplyWriter reply(share.replies, share.batch->version);
  encode(reply);
  piece.reply_end = share.replies.size();
}

ShardRunner::Step ShardRunner::Begin(Share& share, Piece& piece) {
  const Request& request = share.RequestOf(piece);
  switch (request.command->id) {
    case CommandId::kExists:
    case CommandId::kGet:
    case CommandId::kGetattr:
    case CommandId::kMget:
    case CommandId::kStoutRead:
    case CommandId::kStrlen:
    case CommandId::kType:
      return Gather(share, piece, request.arguments[piece.argument]);
    case CommandId::kGetset:
    case CommandId::kSet:
    case CommandId::kSetnx:
      return BeginSet(share, piece);
    case CommandId::kDel:
      return BeginDel(share);
    case CommandId::kMset:
      return BeginMset(share, piece);
    case CommandId::kStoutWrite:
      return BeginStoutWrite(share, piece);
    case CommandId::kStoutEpoch:
      BeginEpoch(share, piece);
      return Step::kBegun;
    case CommandId::kStoutFence:
      return BeginFence(share, piece);
    default:
      break;
  }
  // Commands that look at all keys of the shard.
  if (share.writes > 0) return Step::kAfterWrites;
  switch (request.command->id) {
    case CommandId::kDbsize:
      piece.number = static_cast<std::int64_t>(shard_.size());
      break;
    case CommandId::kFlushall:
    case CommandId::kFlushdb:
      return BeginFlush(share, piece);
    case CommandId::kGrep:
    case CommandId::kScan:
    case CommandId::kSearch:
    case CommandId::kStoutScan:
      return Step::kInTurn;
    case CommandId::kLayers:
      ChangeLayers(share, piece);
      break;
    default:
      piece.error = "ERR no command of a shard";
  }
  return Step::kBegun;
}

// --- Reads ---------------------------------------------------------------------------------------

ShardRunner::Step ShardRunner::Gather(Share& share, Piece& piece, std::string_view key) {
  if (share.writes > 0) return Step::kAfterWrites;
  gathered_.push_back({&share, &piece, key});
  ++share.reads;
  return Step::kBegun;
}

void ShardRunner::ReadAllGathered() {
  if (gathered_.empty()) return;
  // Reads in lock step are as fast without layers.
  const std::size_t together = SetAttributesApart();
  const bool walks = together < std::max<std::size_t>(gathered_.size(), 2);
  if (walks) worker_.read_time->Begin(worker_.now());
  found_.clear();
  try {
    AnswerAllGathered(together);
  } catch (const std::exception&) {
    // Requests without an answer do not know whether there is something to read.
    const std::string_view why = ErrorOfException();
    for (std::size_t i = 0; i < gathered_.size(); ++i) {
      if (!found_.empty() && found_[i]) continue;
      gathered_[i].piece->error = why;
      OnRead(*gathered_[i].share);
    }
  }
  gathered_.clear();
  if (walks) worker_.read_time->End(worker_.now());
}

void ShardRunner::AnswerAllGathered(std::size_t together) {
  gathered_keys_.clear();
  for (std::size_t i = 0; i < together; ++i) gathered_keys_.push_back(gathered_[i].key);
  found_.assign(gathered_.size(), false);
  const auto answer = [&](std::size_t i, auto reply) {
    const Read& read = gathered_[i];
    found_[i] = true;
    try {
      reply(*read.share, *read.piece);
    } catch (const std::exception&) {
      read.piece->error = ErrorOfException();
    }
    OnRead(*read.share);
  };
  shard_.Read(
      gathered_keys_, [&](std::size_t i, Stamp stamp, std::optional<std::string_view> value) {
        answer(i, [&](Share& share, Piece& piece) { AnswerRead(share, piece, stamp, value); });
      });
  for (std::size_t i = 0; i < together; ++i) {
    if (found_[i]) continue;
    answer(i, [&](Share& share, Piece& piece) { AnswerUnknown(share, piece); });
  }
  for (std::size_t i = together; i < gathered_.size(); ++i) {
    answer(i, [&](Share& share, Piece& piece) { AnswerAttribute(share, piece, gathered_[i].key); });
  }
}

// A share whose reads are all done is answered while others are being read. So its client, and the
// thread that writes its replies, can work meanwhile.
void ShardRunner::OnRead(Share& share) {
  if (--share.reads == 0) EndIfDone(share);
}

std::size_t ShardRunner::SetAttributesApart() {
  if (gathered_.size() > kFewReads) return gathered_.size();
  const auto attributes = std::partition(gathered_.begin(), gathered_.end(), [](const Read& read) {
    return read.share->RequestOf(*read.piece).command->id != CommandId::kGetattr;
  });
  return static_cast<std::size_t>(attributes - gathered_.begin());
}

void ShardRunner::AnswerAttribute(Share& share, Piece& piece, std::string_view key) {
  const std::string_view name = share.RequestOf(piece).arguments[2];
  AnswerValue(share, piece, shard_.ReadAttribute(key, *shard_.schema().Find(name)));
}

void ShardRunner::AnswerUnknown(Share& share, Piece& piece) {
  if (share.RequestOf(piece).command->id == CommandId::kStoutRead) {
    Reply(share, piece, [](resp::ReplyWriter& reply) { reply.Null(); });
  } else {
    AnswerRead(share, piece, {}, std::nullopt);
  }
}

void ShardRunner::AnswerRead(Share& share, Piece& piece, Stamp stamp,
                             std::optional<std::string_view> value) {
  const Request& request = share.RequestOf(piece);
  switch (request.command->id) {
    case CommandId::kExists:
      piece.number = value.has_value();
      return;
    case CommandId::kStrlen:
      return Reply(share, piece, [&](resp::ReplyWriter& reply) {
        reply.Integer(value ? static_cast<std::int64_t>(value->size()) : 0);
      });
    case CommandId::kType:
      return Reply(share, piece, [&](resp::ReplyWriter& reply) {
        reply.SimpleString(value ? "string" : "none");
      });
    case CommandId::kGetattr:
      if (value)
        value = shard_.schema().Attribute(*value, *shard_.schema().Find(request.arguments[2]));
      return AnswerValue(share, piece, value);
    case CommandId::kStoutRead:
      if (value && !share.Keep(piece, value->size())) return;
      return Reply(share, piece,
                   [&](resp::ReplyWriter& reply) { resp::ReplyState(stamp, value, reply); });
    default:
      return AnswerValue(share, piece, value);
  }
}

void ShardRunner::AnswerValue(Share& share, Piece& piece, std::optional<std::string_view> value) {
  if (value && !share.Keep(piece, value->size())) return;
  Reply(share, piece, [&](resp::ReplyWriter& reply) { WriteValue(reply, value); });
}

std::optional<std::string> ShardRunner::ReadNow(std::string_view key) {
  std::optional<std::string> found;
  shard_.Read(std::span(&key, 1), [&](std::size_t, Stamp, std::optional<std::string_view> value) {
    if (value) found.emplace(*value);
  });
  return found;
}

// --- Writes --------------------------------------------------------------------------------------

template <typename Call>
void ShardRunner::Count(Share& share, Call call) {
  ++share.writes;
  try {
    call();
  } catch (...) {
    --share.writes;
    throw;
  }
}

bool ShardRunner::MustWait(std::span<const PlainChange> changes) {
  fence_first_ = fence_first_ || shard_.IsFencePending(Scope());
  plain_wait_ = plain_wait_ || fence_first_ || (!turns_.ending() && WillHaveRoom(shard_, changes));
  return plain_wait_ || MustWaitForTurn(changes);
}

template <typename Changes>
bool ShardRunner::MustWaitForTurn(const Changes& changes) {
  if (claimed_.empty()) return false;
  const auto claimed = [&](const auto& change) { return claimed_.contains(change.key); };
  if (std::ranges::none_of(changes, claimed)) return false;
  for (const auto& change : changes) claimed_.emplace(change.key);
  return true;
}

bool ShardRunner::MustWaitForWrites(std::span<const PlainChange> changes) {
  const auto pending = [&](const PlainChange& change) { return shard_.IsPending(change.key); };
  if (std::ranges::none_of(changes, pending)) return false;
  for (const PlainChange& change : changes) claimed_.emplace(change.key);
  return true;
}

void ShardRunner::Write(Share& share, Piece& piece, std::span<const PlainChange> changes) {
  const WriteBatch batch = StampBatch(shard_, changes);
  Count(share, [&] {
    shard_.Write(batch, [this, &share, &piece](const WriteResult& result) {
      // The items of such a batch share one fate: it is whole or not at all.
      const Errc errc = result.items.empty() ? result.batch : result.items.front().errc;
      if (errc != Errc::kOk) piece.error = WriteError(errc);
      OnWritten(share);
    });
  });
}

ShardRunner::Step ShardRunner::BeginSet(Share& share, Piece& piece) {
  using Condition = resp::SetOptions::Condition;
  const Request& request = share.RequestOf(piece);
  const resp::SetOptions options = OptionsOf(request);
  const PlainChange change{request.arguments[1], request.arguments[2]};
  if (MustWait(std::span(&change, 1))) return Step::kAfterPoll;
  std::string text;
  resp::ReplyWriter reply(text, share.batch->version);

  std::optional<std::string> before;
  if (options.get || options.condition != Condition::kAlways) {
    if (MustWaitForWrites(std::span(&change, 1))) return Step::kAfterPoll;
    before = ReadNow(change.key);
  }
  if (options.get && before && !share.Keep(piece, before->size())) return Step::kBegun;
  const bool met = options.condition == Condition::kAlways ||
                   before.has_value() == (options.condition == Condition::kIfPresent);
  if (request.command->id == CommandId::kSetnx) {
    reply.Integer(met);
  } else if (options.get ? !before : !met) {
    reply.Null();
  } else if (options.get) {
    reply.BulkString(*before);
  } else {
    reply.Ok();
  }
  Reply(share, piece, [&](resp::ReplyWriter&) { share.replies += text; });
  if (met) Write(share, piece, std::span(&change, 1));
  return Step::kBegun;
}

// All keys of the command that are of this shard, or as many as one batch takes: the rest is begun
// next.
ShardRunner::Step ShardRunner::BeginDel(Share& share) {
  std::span<Piece> pieces = OfSameRequest(share);
  const auto arguments = share.RequestOf(pieces.front()).arguments;
  std::vector<PlainChange> changes;
  std::vector<std::string_view> keys;
  for (std::size_t bytes = 0; keys.size() < pieces.size() && bytes < kMostDeletedBytes;) {
    keys.push_back(arguments[pieces[keys.size()].argument]);
    changes.push_back({keys.back(), std::nullopt});
    bytes += MaxOperationBytes(keys.back().size(), 0);
  }
  pieces = pieces.first(keys.size());
  if (MustWait(changes) || MustWaitForWrites(changes)) return Step::kAfterPoll;

  changes.clear();
  boost::unordered_flat_set<std::string_view, BytesHash> there;
  shard_.Read(keys, [&](std::size_t i, Stamp, std::optional<std::string_view> value) {
    if (!value || !there.insert(keys[i]).second) return;  // A key that stands twice counts once.
    pieces[i].number = 1;
    changes.push_back({keys[i], std::nullopt});
  });
  if (!changes.empty()) Write(share, pieces.front(), changes);
  share.next += pieces.size() - 1;
  return Step::kBegun;
}

ShardRunner::Step ShardRunner::BeginMset(Share& share, Piece& piece) {
  const Request& request = share.RequestOf(piece);
  std::vector<PlainChange> changes;
  for (std::size_t i = 1; i + 1 < request.arguments.size(); i += 2) {
    if (ShardOf(request.arguments[i], shards_) == number_)
      changes.push_back({request.arguments[i], request.arguments[i + 1]});
  }
  if (MustWait(changes)) return Step::kAfterPoll;
  Write(share, piece, changes);
  return Step::kBegun;
}

// The keys that exist when it begins are found in turns, into the piece. They are deleted part by
// part, each when the part before is durable.
ShardRunner::Step ShardRunner::BeginFlush(Share& share, Piece& piece) {
  if (!piece.error.empty()) {
    turns_.CloseSearch(share);
    return Step::kBegun;
  }
  if (piece.keys.empty()) return Step::kInTurn;
  std::vector<PlainChange> changes;
  changes.reserve(piece.keys.size());
  for (const std::string& key : piece.keys) changes.push_back({key, std::nullopt});
  if (MustWait(changes)) return Step::kAfterPoll;
  Write(share, piece, changes);
  piece.keys.clear();
  return share.search ? Step::kAfterWrites : Step::kBegun;
}

// --- The adapter's -------------------------------------------------------------------------------

ShardRunner::Step ShardRunner::BeginStoutWrite(Share& share, Piece& piece) {
  // Parsed once, however often it is tried.
  std::optional<WriteBatch> batch = std::exchange(share.write, std::nullopt);
  if (!batch) {
    batch.emplace();
    std::string wrong;
    if (!ParseStoutWrite(share.RequestOf(piece).arguments, number_, shards_, *batch, wrong)) {
      Reply(share, piece, [&](resp::ReplyWriter& reply) { reply.Error(wrong); });
      return Step::kBegun;
    }
  }
  if (MustWaitForTurn(batch->items)) {
    share.write = std::move(batch);
    return Step::kAfterPoll;
  }
  Count(share, [&] {
    shard_.Write(*batch, [this, &share, &piece](WriteResult result) {
      piece.written = std::move(result);
      OnWritten(share);
    });
  });
  return Step::kBegun;
}

void ShardRunner::BeginEpoch(Share& share, Piece& piece) {
  Count(share, [&] {
    shard_.NewEpoch([this, &share, &piece](ErrorCode failed, Epoch epoch) {
      if (failed) piece.error = WriteError(Errc::kTransient);
      piece.number = static_cast<std::int64_t>(epoch);
      OnWritten(share);
    });
  });
}

ShardRunner::Step ShardRunner::BeginFence(Share& share, Piece& piece) {
  const Request& request = share.RequestOf(piece);
  const Scope scope(request.arguments[1]);
  if (fence_first_ && scope == Scope()) return Step::kAfterPoll;
  const Epoch epoch = resp::ParseStoutFence(request.arguments).value();
  Count(share, [&] {
    shard_.Fence(scope, epoch, [this, &share, &piece](ErrorCode failed) {
      piece.number = failed.value();
      OnWritten(share);
    });
  });
  return Step::kBegun;
}

// LAYERS shard [SET n]
void ShardRunner::ChangeLayers(Share& share, Piece& piece) {
  const Request& request = share.RequestOf(piece);
  if (request.arguments.size() == 4) {
    const std::size_t wanted = resp::ParseUnsigned(request.arguments[3]).value();
    while (shard_.layers() < wanted && shard_.AddLayer()) continue;
    while (shard_.layers() > wanted && shard_.RemoveLayer()) continue;
  }
  Reply(share, piece, [&](resp::ReplyWriter& reply) {
    reply.MapHeader(3);
    reply.NamedInteger("layers", shard_.layers());
    reply.NamedInteger("bytes", shard_.layer_bytes());
    reply.NamedInteger("next-layer-bytes", shard_.next_layer_bytes());
  });
}

}  // namespace stout::blowfish
