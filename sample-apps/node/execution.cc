#include "node/execution.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/system/errc.hpp>
#include <cstddef>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "node/commands.h"
#include "node/key_turn.h"
#include "node/value_format.h"
#include "resp/server/command_errors.h"

namespace stout::node {
namespace {

using Entry = KeyMap::Entry;

/// Maximum rounds of reads for the keys of one command or transaction. A round is repeated if the
/// map evicted a key before the command could use it.
constexpr int kMaxRounds = 8;

/// Keys that are read ahead together: before the size of values is known, and at most.
constexpr std::size_t kFirstWarmed = 128;
constexpr std::size_t kMaxWarmed = 4096;

constexpr std::string_view kTooLittleMemory =
    "ERR not done: --cache-bytes is too small for the keys that are in use";
constexpr std::string_view kTooLittleMemoryForAll =
    "ERR not all done: --cache-bytes is too small for the keys that are in use";

constexpr std::string_view kNotOrdered =
    "ERR no store of a range that is in scans in byte order: use rocksdb:, memory:, postgres: with "
    "its own table, or a blowfish: of one shard; see docs/STORES.md";

// Returns true if the map is no longer this node's, or will not be soon.
bool IsGone(ErrorCode ec) {
  return ec == Errc::kFenced || ec == Errc::kDraining || ec == Errc::kClosed;
}

// Returns true if a repetition may succeed.
bool MayPass(ErrorCode ec) {
  return IsGone(ec) || ec == Errc::kPushedBack || ec == Errc::kDeadline || ec == Errc::kTransient ||
         ec == Errc::kUnknown;
}

}  // namespace

Execution::Execution(RangeServer::Served served, std::span<Request* const> requests,
                     const Limits& limits, Deadlines& deadlines, resp::Resp version,
                     std::string& replies)
    : served_(std::move(served)),
      map_(*served_->map),
      requests_(requests),
      limits_(limits),
      deadlines_(deadlines),
      version_(version),
      replies_(replies) {}

void Execution::Start(UniqueFunction<void()> done) {
  done_ = std::move(done);
  // Reads that a member could not answer, because its mark was too old.
  const auto wants_mark = [](const Request* request) {
    return request->levels.staleness.has_value() || request->levels.causal;
  };
  if (std::ranges::any_of(requests_, wants_mark)) mark_ = map_.RefreshMark();
  Prefetch();
  Warm();
  if (reads_ == 0) Continue();
}

void Execution::Prefetch() {
  if (requests_.size() == 1 && requests_.front()->keys() <= 1) return;
  std::vector<KeyView> keys;
  for (const Request* const request : requests_) {
    for (std::size_t i = 0; i < request->keys(); ++i) keys.push_back(request->key(i));
  }
  map_.Prefetch(keys);
}

// Returns how many values of the mean size so far the replies have room for: all values that are
// read together are in memory before the first one takes its room.
std::size_t Execution::WarmedAtOnce() const {
  if (looked_ == 0) return kFirstWarmed;
  const std::size_t mean = looked_bytes_ / looked_ + 1;
  return std::clamp<std::size_t>(limits_.replies.left() / mean, 1, kMaxWarmed);
}

void Execution::Warm() {
  std::size_t left = WarmedAtOnce();
  auto& [at, index] = warmed_;
  for (; at < requests_.size(); ++at, index = 0) {
    const Request& request = *requests_[at];
    const std::size_t keys = request.keys_read();
    if (requests_.size() == 1 && keys == 1) return;  // read when it is run
    for (; index < keys; ++index) {
      const KeyView key = request.key(index);
      if (read_.contains(key) || map_.Holds(key)) continue;
      if (left-- == 0) return;
      ReadAhead(request, key);
    }
  }
}

void Execution::ReadAhead(const Request& request, KeyView key) {
  const FetchOptions options{.tenant = request.tenant, .ahead = true};
  if (!served_->shared) {
    read_.insert(key);
    return map_.Get(key, options, [](ErrorCode, const Entry&) {});
  }
  // Until the read ends, the map may have a state that other nodes have changed since.
  ++reads_;
  map_.Get(key, options, [this, key](ErrorCode ec, const Entry&) {
    if (!ec) read_.insert(key);
    if (--reads_ == 0) Continue();
  });
}

void Execution::Continue() {
  // Without the lease, the values in memory may be out of date.
  const bool owned = served_->owns();
  now_ = deadlines_.now();
  for (; next_ < requests_.size(); ++next_) {
    Request& request = *requests_[next_];
    if (key_ == 0) {
      key_ = 1;
      count_ = 0;
      rounds_ = 0;
      request.changed = false;
      read_failed_ = {};
      page_.reset();
      request.reply_begin = replies_.size();
    }
    if (!owned) {
      Fail(request, Errc::kFenced);
    } else if (!request.reads_only() && !map_.Takes({.members = request.levels.write})) {
      Fail(request, Errc::kTooFewMembers);
    } else if (!request.reads_only() && !map_.HasReplyRoom()) {
      Fail(request, Errc::kPushedBack);
    } else if (!Run(request)) {
      return;
    }
    request.reply_end = replies_.size();
    key_ = 0;
  }
  Arrive();
}

bool Execution::Run(Request& request) {
  if (request.command->id == CommandId::kExec) return RunExec(request);
  const bool page = request.command->id == CommandId::kStoutPage;
  if (page ? !RunPage(request) : !RunOnEachKey(request)) return false;
  if (request.error.empty()) Reveal(request);
  revealed_.clear();
  return true;
}

bool Execution::RunOnEachKey(Request& request) {
  const std::size_t keys = request.keys();
  for (; key_ <= keys && request.error.empty(); ++key_) {
    const KeyView key = request.key(key_ - 1);
    const std::optional<Entry> entry = request.blind ? Entry() : Look(request, key);
    if (entry) {
      read_failed_ = {};
      rounds_ = 0;
      revealed_.push_back(key);
      ++looked_;
      if (entry->value) looked_bytes_ += entry->value->size();
      RunOnKey(request, key, *entry);
    } else if (read_failed_) {
      read_.erase(key);
      Fail(request, std::exchange(read_failed_, {}));
    } else if (++rounds_ > kMaxRounds) {
      request.error = request.changed ? kTooLittleMemoryForAll : kTooLittleMemory;
    } else {
      // A later turn would not wait for the states so far if the store refused them meanwhile.
      Reveal(request);
      if (std::pair(next_, key_ - 1) >= warmed_) Warm();
      if (reads_ > 0) return false;
      const bool counted = !read_.insert(key).second;
      map_.Get(key, {request.tenant, counted, true}, [this](ErrorCode ec, const Entry&) {
        read_failed_ = ec;
        Continue();
      });
      return false;
    }
  }
  return true;
}

// Reveals what the page has, and that other keys do not exist.
bool Execution::RunPage(Request& request) {
  if (!page_) {
    map_.Scan(request.scan, [this](ErrorCode ec, KeyPage page) {
      read_failed_ = ec;
      page_ = std::move(page);
      Continue();
    });
    return false;
  }
  const KeyPage page = *std::exchange(page_, std::nullopt);
  if (const ErrorCode ec = std::exchange(read_failed_, {})) {
    Fail(request, ec);
    if (ec == Errc::kRefused) request.error = kNotOrdered;
    if (ec == boost::system::errc::not_enough_memory) request.error = resp::kNoMemory;
    return true;
  }
  try {
    ShowPage(request, page);
  } catch (const std::bad_alloc&) {
    request.error = resp::kNoMemory;
  }
  if (request.error.empty()) {
    Reveal(request);
  } else {
    revealed_.clear();
    request.found.clear();
  }
  return true;
}

// Sets request.error if there is no room.
void Execution::ShowPage(Request& request, const KeyPage& page) {
  request.next = page.next;
  saw_new_ = true;
  for (const ScannedKey& each : page.keys) {
    revealed_.push_back(each.key);
    const DatedValue dated = DecodeValue(each.state.value);
    if (!each.state.found || dated.expired(now_)) continue;
    const std::string_view value = request.values ? dated.value : "";
    if (!TakeRoom(request, limits_.replies, each.key.size() + value.size())) return;
    request.found.emplace_back(each.key, value);
  }
}

std::optional<Entry> Execution::Look(const Request& request, KeyView key) {
  if (auto entry = map_.Peek(key, {request.tenant, read_.contains(key)})) {
    read_.erase(key);
    return entry;
  }
  const auto held = held_.find(key);
  return held == held_.end() ? std::nullopt : std::optional(held->second);
}

bool Execution::RunExec(Request& request) {
  if (!Gather(request)) return false;
  saw_new_ = true;  // that a watched key has changed, too
  if (request.error.empty() && LacksRoom(request, held_, limits_.replies))
    request.error = kNoRoomNow;
  if (request.error.empty()) RunQueued(request);
  held_.clear();
  return true;
}

bool Execution::Gather(Request& request) {
  held_.clear();
  if (read_failed_) {
    Fail(request, std::exchange(read_failed_, {}));
    return true;
  }
  std::vector<KeyView> keys;
  for (const auto& [key, watched] : request.watched) keys.push_back(key);
  for (const Request& queued : request.queued) {
    if (!queued.on_keys()) continue;
    for (std::size_t i = 0; i < queued.keys_read(); ++i) keys.push_back(queued.key(i));
  }
  std::vector<KeyView> missing;
  for (const KeyView key : keys) {
    // The commands look again, and that is counted.
    // A map that does not hold the key yet may have a state that other nodes have changed since.
    const bool skips = rounds_ == 0 && !map_.Holds(key);
    if (auto entry = skips ? std::nullopt : map_.Peek(key, {.counted = true, .ahead = true})) {
      held_.emplace(key, *std::move(entry));
    } else {
      missing.push_back(key);
    }
  }
  if (missing.empty()) return true;
  if (++rounds_ > kMaxRounds) {
    request.error = kTooLittleMemory;
    return true;
  }
  reads_ = missing.size();
  for (const KeyView key : missing) {
    read_.insert(key);
    map_.Get(key, {.tenant = request.tenant, .ahead = true},
             [this, key](ErrorCode ec, const Entry&) {
               if (ec) {
                 read_failed_ = ec;
                 read_.erase(key);
               }
               if (--reads_ == 0) Continue();
             });
  }
  return false;
}

// In one turn: no other client sees or changes anything in between.
void Execution::RunQueued(Request& request) {
  for (const auto& [key, watched] : request.watched) {
    const Entry& entry = held_.at(key);
    const bool exists = entry.value && !DecodeValue(*entry.value).expired(now_);
    if (watched == KeyState{entry.stamp, exists}) continue;
    if (watched == kExpiredState && !exists) continue;
    request.aborted = true;
    revealed_.push_back(key);
  }
  if (request.aborted) return Reveal(request);
  bool any_changed = false;
  for (Request& queued : request.queued) {
    if (!queued.on_keys()) continue;
    key_ = 1;
    count_ = 0;
    queued.changed = false;
    queued.tenant = request.tenant;
    queued.levels = request.levels;
    queued.reply_begin = replies_.size();
    (void)RunOnEachKey(queued);  // all its keys are here
    if (queued.displaced && !any_changed) {
      request.displaced = true;
      request.error = queued.error;
      revealed_.clear();
      return;
    }
    if (queued.error.empty()) Reveal(queued, true);
    revealed_.clear();
    queued.reply_end = replies_.size();
    any_changed |= queued.changed;
  }
}

void Execution::RunOnKey(Request& request, KeyView key, const Entry& entry) {
  KeyTurn turn{.request = request,
               .deadlines = deadlines_,
               .limits = limits_,
               .replies = replies_,
               .reply = resp::ReplyWriter(replies_, version_),
               .count = count_,
               .map = &map_,
               .now = now_,
               .key = key,
               .index = key_ - 1,
               .stamp = entry.stamp};
  turn.Run(entry.value.get());
  saw_new_ |= turn.changed || !mark_.Covers(entry.stamp);
  if (turn.failed) Fail(request, turn.failed);
}

void Execution::Fail(Request& request, ErrorCode why) {
  fenced_ |= why == Errc::kFenced;
  if (request.changed)
    return Refuse<void>(request, fmt::format("ERR not all done: {}", why.message()));
  request.displaced = IsGone(why);
  const char* const word = why == Errc::kTooFewMembers ? "NOREPLICAS"
                           : MayPass(why)              ? "TRYAGAIN"
                                                       : "ERR";
  request.error = fmt::format("{} not done: {}", word, why.message());
}

void Execution::Reveal(Request& request, bool in_exec) {
  if (revealed_.empty()) return;
  ++waiting_;
  AnswerLevel level{.members = std::nullopt, .write = request.changed};
  if (level.write) level.members = request.levels.write;
  map_.SafeReply(
      revealed_,
      [this, &request, in_exec](ErrorCode ec) {
        if (ec) OnNotDurable(request, in_exec, ec);
        Arrive();
      },
      level);
  revealed_.clear();
}

void Execution::OnNotDurable(Request& request, bool in_exec, ErrorCode ec) {
  fenced_ |= ec == Errc::kFenced;
  if (!request.error.empty()) return;
  if (!request.changed) {
    request.displaced = IsGone(ec) && !in_exec;
    request.error = fmt::format("TRYAGAIN what it reveals is not durable: {}", ec.message());
  } else if (IsRefusal(ec)) {
    request.error = fmt::format("ERR not durable: {}", ec.message());
  } else {
    request.error = fmt::format("UNKNOWN not known to be durable: {}", ec.message());
  }
}

void Execution::Arrive() {
  if (--waiting_ == 0) std::exchange(done_, {})();
}

}  // namespace stout::node
