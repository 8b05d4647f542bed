#include "node/execution.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "node/commands.h"
#include "resp/server/command_errors.h"
#include "resp/server/integer.h"

namespace stout::node {
namespace {

using Entry = WriteBackMap::Entry;
using Condition = resp::SetOptions::Condition;

/// Maximum rounds of reads for the keys of one command or transaction. A round is repeated if the
/// map evicted a key before the command could use it.
constexpr int kMostRounds = 8;

/// Maximum keys that are read ahead for a batch.
constexpr std::size_t kMostWarmed = 4096;

constexpr std::string_view kTooLittleMemory =
    "ERR not done: --cache-bytes is too small for the keys that are in use";

/// Memory for replies that an idle client may hold.
constexpr std::size_t kRepliesKept = std::size_t{64} << 10;

// Returns true if SET changes the key whatever its state is, and does not reveal it.
bool IsBlind(const resp::SetOptions& set) {
  return set.condition == Condition::kAlways && !set.get;
}

// Returns true if the command looks at the states of its keys.
bool Reads(const Request& request) {
  switch (request.command->id) {
    case CommandId::kMset:
    case CommandId::kUnwatch:
    case CommandId::kDiscard:
    case CommandId::kExec:
    case CommandId::kScan:
    case CommandId::kDbsize:
    case CommandId::kFlushall:
    case CommandId::kFlushdb:
      return false;
    case CommandId::kSet:
    case CommandId::kSetnx:
    case CommandId::kGetset:
      return !IsBlind(request.set);
    default:
      return true;
  }
}

// Requires that Reads(request).
resp::Arguments KeysOf(const Request& request) {
  const auto arguments = request.arguments.subspan(1);
  return request.command->keys.last == 1 ? arguments.first(1) : arguments;
}

}  // namespace

void Execution::Start(std::span<Request> requests, resp::Resp version,
                      UniqueFunction<void()> done) {
  requests_ = requests;
  version_ = version;
  done_ = std::move(done);
  next_ = key_ = 0;
  waiting_ = 1;
  fenced_ = false;
  Warm();
  Continue();
}

void Execution::Clear() {
  replies_.clear();
  if (replies_.capacity() > kRepliesKept) replies_.shrink_to_fit();
}

void Execution::Warm() {
  std::size_t left = kMostWarmed;
  for (const Request& request : requests_) {
    if (!request.on_keys() || !Reads(request)) continue;
    const auto keys = KeysOf(request);
    if (requests_.size() == 1 && keys.size() == 1) return;  // read when it is run
    for (const KeyView key : keys) {
      if (map_.Peek(key)) continue;
      if (left-- == 0) return;
      map_.Get(key, [](ErrorCode, const Entry&) {});
    }
  }
}

void Execution::Continue() {
  for (; next_ < requests_.size(); ++next_) {
    Request& request = requests_[next_];
    if (key_ == 0) {
      if (!request.on_keys()) continue;
      key_ = 1;
      count_ = 0;
      rounds_ = 0;
      changed_ = false;
      read_failed_ = {};
      request.reply_begin = replies_.size();
    }
    if (!Run(request)) return;
    request.reply_end = replies_.size();
    key_ = 0;
  }
  Arrive();
}

bool Execution::Run(Request& request) {
  if (request.command->id == CommandId::kExec) return RunExec(request);
  if (KeyWalk::Runs(request)) {
    if (std::exchange(walked_, false)) return true;
    walk_.Run(request, replies_, version_, [this] {
      walked_ = true;
      Continue();
    });
    return false;
  }
  if (Reads(request)) {
    if (!RunOnEachKey(request)) return false;
  } else if (request.command->id == CommandId::kMset) {
    RunMset(request);
  } else if (request.arguments.size() == 1) {  // DISCARD, UNWATCH
    transaction_.Unwatch();
    resp::ReplyWriter(replies_, version_).Ok();
  } else {
    revealed_.push_back(request.arguments[1]);
    RunSet(request, {});
  }
  if (request.error.empty()) Finish(request);
  revealed_.clear();
  return true;
}

bool Execution::RunOnEachKey(Request& request) {
  const auto keys = KeysOf(request);
  for (; key_ <= keys.size() && request.error.empty(); ++key_) {
    const KeyView key = keys[key_ - 1];
    const std::optional<Entry> entry = Look(key);
    if (entry) {
      read_failed_ = {};
      rounds_ = 0;
      if (key_ == 1 && request.command->id == CommandId::kMget) {
        resp::ReplyWriter(replies_, version_).ArrayHeader(keys.size());
      }
      revealed_.push_back(key);
      RunOnKey(request, key, *entry);
    } else if (read_failed_) {
      Fail(request, std::exchange(read_failed_, {}));
    } else if (++rounds_ > kMostRounds) {
      request.error = kTooLittleMemory;
    } else {
      // A later turn would not wait for the states so far if the store refused them meanwhile.
      Reveal(request);
      map_.Get(key, [this](ErrorCode ec, const Entry&) {
        read_failed_ = ec;
        Continue();
      });
      return false;
    }
  }
  return true;
}

std::optional<Entry> Execution::Look(KeyView key) {
  if (auto entry = map_.Peek(key)) return entry;
  const auto held = held_.find(key);
  return held == held_.end() ? std::nullopt : std::optional(held->second);
}

bool Execution::RunExec(Request& request) {
  if (request.aborted) {
    request.error = "EXECABORT Transaction discarded because of previous errors.";
  } else if (!Gather(request)) {
    return false;
  }
  if (request.error.empty()) RunQueued(request);
  held_.clear();
  transaction_.Unwatch();
  return true;
}

bool Execution::Gather(Request& request) {
  held_.clear();
  if (read_failed_) {
    Fail(request, std::exchange(read_failed_, {}));
    return true;
  }
  std::vector<KeyView> keys;
  for (const auto& [key, stamp] : transaction_.watched()) keys.push_back(key);
  for (const Request& queued : request.queued) {
    if (!queued.on_keys() || !Reads(queued)) continue;
    for (const KeyView key : KeysOf(queued)) keys.push_back(key);
  }
  std::vector<KeyView> missing;
  for (const KeyView key : keys) {
    if (auto entry = map_.Peek(key)) {
      held_.emplace(key, *std::move(entry));
    } else {
      missing.push_back(key);
    }
  }
  if (missing.empty()) return true;
  if (++rounds_ > kMostRounds) {
    request.error = kTooLittleMemory;
    return true;
  }
  reads_ = missing.size();
  for (const KeyView key : missing) {
    map_.Get(key, [this](ErrorCode ec, const Entry&) {
      if (ec) read_failed_ = ec;
      if (--reads_ == 0) Continue();
    });
  }
  return false;
}

// In one turn: no other client sees or changes anything in between.
void Execution::RunQueued(Request& request) {
  for (const auto& [key, stamp] : transaction_.watched()) {
    if (held_.at(key).stamp == stamp) continue;
    request.aborted = true;
    revealed_.push_back(key);
  }
  if (request.aborted) return Reveal(request);
  for (Request& queued : request.queued) {
    if (!queued.on_keys()) continue;
    key_ = 1;
    count_ = 0;
    changed_ = false;
    queued.reply_begin = replies_.size();
    (void)Run(queued);  // all its keys are here
    queued.reply_end = replies_.size();
  }
}

void Execution::RunOnKey(Request& request, KeyView key, const Entry& entry) {
  switch (request.command->id) {
    case CommandId::kDel:
    case CommandId::kUnlink:
      count_ += entry.value != nullptr;
      return Remove(request, key, entry);
    case CommandId::kExists:
      count_ += entry.value != nullptr;
      return;
    case CommandId::kStrlen:
      count_ = entry.value ? static_cast<std::int64_t>(entry.value->size()) : 0;
      return;
    case CommandId::kIncr:
    case CommandId::kIncrby:
    case CommandId::kDecr:
    case CommandId::kDecrby:
      return RunIncr(request, entry);
    case CommandId::kAppend:
      return RunAppend(request, entry);
    case CommandId::kSet:
    case CommandId::kSetnx:
    case CommandId::kGetset:
      return RunSet(request, entry);
    case CommandId::kGetdel:
      ReplyValue(request, entry);
      return Remove(request, key, entry);
    case CommandId::kWatch:
      if (!transaction_.Watch(key, entry.stamp, limits_.commands.max_request))
        request.error = "ERR the watched keys are larger than --max-request";
      return;
    case CommandId::kType:
      return resp::ReplyWriter(replies_, version_).SimpleString(entry.value ? "string" : "none");
    default:
      return ReplyValue(request, entry);
  }
}

void Execution::Remove(Request& request, KeyView key, const Entry& entry) {
  if (!entry.value || !request.error.empty()) return;
  const auto deleted = map_.Delete(key);
  deleted ? void(changed_ = true) : Fail(request, deleted.error());
}

void Execution::RunSet(Request& request, const Entry& entry) {
  const auto& [condition, get, keep_ttl, expiry] = request.set;
  const bool set = condition == Condition::kAlways ||
                   (condition == Condition::kIfPresent) == (entry.value != nullptr);
  if (get) ReplyValue(request, entry);
  if (!request.error.empty()) return;
  if (set) Put(request, request.arguments[1], std::string(request.arguments[2]));
  if (get || !request.error.empty()) return;
  resp::ReplyWriter reply(replies_, version_);
  if (request.command->id == CommandId::kSetnx) return reply.Integer(set ? 1 : 0);
  set ? reply.Ok() : reply.Null();
}

// An error that depends on the value reveals it, so it waits as any other reply does.
void Execution::RunIncr(Request& request, const Entry& entry) {
  resp::ReplyWriter reply(replies_, version_);
  const auto number = resp::ParseInteger(entry.value ? std::string_view(*entry.value) : "0");
  if (!number) return reply.Error(resp::kNotAnInteger);
  std::int64_t sum = 0;
  if (__builtin_add_overflow(*number, request.delta, &sum)) {
    return reply.Error("ERR increment or decrement would overflow");
  }
  Put(request, request.arguments[1], std::to_string(sum));
  if (request.error.empty()) reply.Integer(sum);
}

void Execution::RunAppend(Request& request, const Entry& entry) {
  const std::string_view tail = request.arguments[2];
  std::string value = entry.value ? *entry.value : std::string();
  resp::ReplyWriter reply(replies_, version_);
  if (value.size() + tail.size() > limits_.commands.max_bulk)
    return reply.Error("ERR string exceeds maximum allowed size (--max-value)");
  value += tail;
  const std::size_t size = value.size();
  if (!tail.empty() || !entry.value) Put(request, request.arguments[1], std::move(value));
  if (request.error.empty()) reply.Integer(static_cast<std::int64_t>(size));
}

void Execution::RunMset(Request& request) {
  const auto arguments = request.arguments;
  for (std::size_t i = 1; i < arguments.size() && request.error.empty(); i += 2) {
    revealed_.push_back(arguments[i]);
    Put(request, arguments[i], std::string(arguments[i + 1]));
  }
  if (request.error.empty()) resp::ReplyWriter(replies_, version_).Ok();
}

void Execution::Finish(Request& request) {
  switch (request.command->id) {
    case CommandId::kDel:
    case CommandId::kUnlink:
    case CommandId::kExists:
    case CommandId::kStrlen:
      resp::ReplyWriter(replies_, version_).Integer(count_);
      break;
    case CommandId::kWatch:
      resp::ReplyWriter(replies_, version_).Ok();
      break;
    default:
      break;
  }
  Reveal(request);
}

void Execution::Put(Request& request, KeyView key, std::string value) {
  const auto put = map_.Put(key, std::move(value));
  put ? void(changed_ = true) : Fail(request, put.error());
}

void Execution::Fail(Request& request, ErrorCode why) {
  fenced_ |= why == Errc::kFenced;
  request.error = fmt::format("ERR not {}done: {}", changed_ ? "all " : "", why.message());
}

void Execution::ReplyValue(Request& request, const Entry& entry) {
  resp::ReplyWriter reply(replies_, version_);
  if (!entry.value) return reply.Null();
  if (replies_.size() + entry.value->size() > limits_.max_replies) {
    request.error = "ERR the replies are larger than --max-replies: request less at a time";
    return;
  }
  reply.BulkString(*entry.value);
}

void Execution::Reveal(Request& request) {
  if (revealed_.empty()) return;
  ++waiting_;
  map_.SafeReply(revealed_, [this, &request](ErrorCode ec) {
    if (ec) fenced_ |= ec == Errc::kFenced;
    if (ec && request.error.empty())
      request.error = fmt::format("ERR not known to be durable: {}", ec.message());
    Arrive();
  });
  revealed_.clear();
}

void Execution::Arrive() {
  if (--waiting_ == 0) std::exchange(done_, {})();
}

}  // namespace stout::node
