#include "node/execution.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "node/commands.h"
#include "node/key_turn.h"

namespace stout::node {
namespace {

using Entry = WriteBackMap::Entry;

/// Maximum rounds of reads for the keys of one command or transaction. A round is repeated if the
/// map evicted a key before the command could use it.
constexpr int kMostRounds = 8;

/// Maximum keys that are read ahead for a batch.
constexpr std::size_t kMostWarmed = 4096;

constexpr std::string_view kTooLittleMemory =
    "ERR not done: --cache-bytes is too small for the keys that are in use";

/// Memory for replies that an idle client may hold.
constexpr std::size_t kRepliesKept = std::size_t{64} << 10;

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
    if (!request.on_keys()) continue;
    const std::size_t keys = request.keys_read();
    if (requests_.size() == 1 && keys == 1) return;  // read when it is run
    for (std::size_t i = 0; i < keys; ++i) {
      const KeyView key = request.key(i);
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
  if (!RunOnEachKey(request)) return false;
  if (request.error.empty()) Reveal(request);
  revealed_.clear();
  return true;
}

bool Execution::RunOnEachKey(Request& request) {
  const std::size_t keys = request.keys();
  if (keys == 0) RunOnKey(request, {}, {});
  for (; key_ <= keys && request.error.empty(); ++key_) {
    const KeyView key = request.key(key_ - 1);
    const std::optional<Entry> entry = request.blind ? Entry() : Look(key);
    if (entry) {
      read_failed_ = {};
      rounds_ = 0;
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
    if (!queued.on_keys()) continue;
    for (std::size_t i = 0; i < queued.keys_read(); ++i) keys.push_back(queued.key(i));
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
  KeyTurn turn{.request = request,
               .map = map_,
               .transaction = transaction_,
               .limits = limits_,
               .replies = replies_,
               .reply = resp::ReplyWriter(replies_, version_),
               .count = count_,
               .key = key,
               .index = key_ - 1,
               .stamp = entry.stamp};
  if (entry.value) turn.value = *entry.value;
  RowOf(*request.command).run(turn);
  changed_ |= turn.changed;
  if (turn.failed) Fail(request, turn.failed);
}

void Execution::Fail(Request& request, ErrorCode why) {
  fenced_ |= why == Errc::kFenced;
  request.error = fmt::format("ERR not {}done: {}", changed_ ? "all " : "", why.message());
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
