#include "blowfish/load/record_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "resp/client/errors.h"

namespace stout::blowfish {
namespace {

// Guesses: enough for the fastest network, and little beside what the server takes.
constexpr std::size_t kMaxBytes = std::size_t{8} << 20;
constexpr std::size_t kRoundBytes = std::size_t{1} << 20;

bool IsForbidden(const resp::Reply& reply) {
  return reply.code() == "NOAUTH" || reply.code() == "WRONGPASS";
}

// A blowfish-server refuses every record of such a shard until it starts again.
bool IsShardDown(const resp::Reply& reply) { return reply.code() == "SHARDDOWN"; }

}  // namespace

bool RecordQueue::full() const {
  return records_.size() >= 2 * options_.commands * options_.batch || bytes_ >= kMaxBytes;
}

std::optional<std::uint64_t> RecordQueue::first_line() const {
  if (records_.empty()) return std::nullopt;
  return records_.front().line;
}

void RecordQueue::Add(std::string_view key, std::string_view value, std::uint64_t line) {
  assert(!full());
  Record& record = records_.emplace_back(Record{{}, key.size(), line});
  record.text.reserve(key.size() + value.size());
  record.text.append(key).append(value);
  bytes_ += sizeof(Record) + record.text.size();
}

resp::Commands RecordQueue::NextRound() {
  assert(!empty());
  resp::Commands commands;
  resent_ += unanswered_.size();
  unanswered_.clear();
  for (auto record = records_.begin(); record != records_.end();) {
    if (commands.count() == options_.commands || commands.bytes().size() >= kRoundBytes) break;
    const auto at = static_cast<std::size_t>(record - records_.begin());
    const std::size_t size = at < singles_ ? 1 : std::min(options_.batch, records_.size() - at);
    commands.Begin(1 + 2 * size);
    commands.Argument(size == 1 ? "SET" : "MSET");
    for (std::size_t i = 0; i < size; ++i, ++record) {
      const std::string_view text = record->text;
      commands.Argument(text.substr(0, record->key_size));
      commands.Argument(text.substr(record->key_size));
    }
    unanswered_.push_back(size);
  }
  return commands;
}

RecordQueue::Outcome RecordQueue::Finish(std::span<const resp::Reply> replies) {
  assert(replies.size() <= unanswered_.size());
  Outcome outcome;
  for (const resp::Reply& reply : replies) {
    const std::size_t size = unanswered_.front();
    if (!reply.error()) {
      if (reply.kind != resp::Reply::Kind::kStatus) {
        outcome.fatal = kOtherServer;
        break;
      }
      outcome.records += size;
      for (std::size_t i = 0; i < size; ++i) outcome.bytes += records_[i].text.size();
    } else if (IsForbidden(reply)) {
      outcome.fatal = fmt::format(
          "the server requires a password, or another one: {}; give it in a file with "
          "--password-file, or in the environment as BLOWFISH_PASSWORD",
          reply.text);
      break;
    } else if (IsShardDown(reply)) {
      outcome.fatal = fmt::format(
          "{}; restore the files of the shard, start the server again, and then go on", reply.text);
      break;
    } else if (!resp::RefusesUs(reply)) {
      outcome.busy = reply.text;
      break;
    } else if (size > 1) {
      singles_ = size;
      break;
    } else {
      outcome.refused.push_back({records_.front().line, reply.text});
    }
    unanswered_.pop_front();
    Pop(size);
  }
  return outcome;
}

void RecordQueue::Pop(std::size_t records) {
  singles_ -= std::min(singles_, records);
  for (; records > 0; --records) {
    bytes_ -= sizeof(Record) + records_.front().text.size();
    records_.pop_front();
  }
}

}  // namespace stout::blowfish
