#include "node/level_commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <span>
#include <string_view>
#include <utility>

#include "node/commands.h"
#include "node/operation_commands.h"
#include "node/run_together.h"
#include "resp/client/commands.h"
#include "resp/server/ascii.h"
#include "resp/server/integer.h"
#include "resp/server/reply_writer.h"
#include "stout/clock.h"
#include "stout/completion.h"
#include "stout/core/range_record.h"
#include "stout/key_map.h"
#include "stout/unique_function.h"

namespace stout::node {
namespace {

namespace asio = boost::asio;

using std::chrono::milliseconds;
using enum CommandId::Number;
using enum resp::CommandFlag::Bits;

constexpr std::string_view kSyntax =
    "ERR syntax: STOUT.LEVEL [READ mode|strong|relaxed [STALENESS milliseconds]|causal [SEEN "
    "token]] "
    "[WRITE mode|all|members]; a bound is 1 to 86400000 ms, members are 1 to 64, and a token is "
    "what STOUT.LEVEL shows";
constexpr std::uint64_t kLongestStaleness = 86'400'000;   // a day, in ms
constexpr std::uint64_t kLatestSeen = 8'000'000'000'000;  // the year 2223, in Unix milliseconds

constexpr std::string_view kNotShared =
    "ERR in mode aa+ec members do not show how new their states are: READ is mode or relaxed";
constexpr std::string_view kNotCounted =
    "ERR WAIT does not work in mode aa+ec, whose nodes drop what a silent member lacks: use "
    "STOUT.LEVEL WRITE";

/// How much later than the time of WAIT the answer of another node may come.
constexpr auto kLate = std::chrono::seconds(1);

constexpr std::string_view kWaitSyntax = "ERR syntax: WAIT members milliseconds";

constexpr std::string_view kNewOwner =
    "UNKNOWN a range has another owner than when this connection wrote to it: read the keys";

// clang-format off
constexpr KeyCommand kLevelRows[] = {
    {{kStoutLevel, "stout.level", -1, kNoMulti, {}, 0,
      "cluster", "0.1.0", "Returns or changes the levels of the connection's reads and writes."}},
    {{kStoutWait, "stout.wait", -5, kNoMulti, {}, 0,
      "cluster", "0.1.0", "Counts the members that have the writes to ranges, for another node."}},
    {{kWait, "wait", 3, kNoscript, {}, resp::CommandCategory::kConnection,
      "cluster", "3.0.0", "Returns the number of members that have the connection's writes."}},
};
// clang-format on

// Takes the next word off if it is this one.
bool Take(resp::Arguments& words, std::string_view word) {
  if (words.empty() || !resp::EqualIgnoringCase(words.front(), word)) return false;
  words = words.subspan(1);
  return true;
}

// Takes the next word off if it is a number from 1 to `most`.
std::optional<std::uint64_t> TakeNumber(resp::Arguments& words, std::uint64_t most) {
  const auto number = words.empty() ? std::nullopt : resp::ParseUnsigned(words.front());
  if (!number || *number == 0 || *number > most) return std::nullopt;
  words = words.subspan(1);
  return number;
}

bool TakeRead(resp::Arguments& words, Levels& levels, std::optional<TimePoint>& seen) {
  levels.staleness.reset();
  seen.reset();
  levels.strong = Take(words, "strong");
  levels.causal = !levels.strong && Take(words, "causal");
  levels.relaxed = levels.causal || (!levels.strong && Take(words, "relaxed"));
  if (levels.strong) return true;
  if (!levels.relaxed) return Take(words, "mode");
  if (levels.causal) {
    seen = TimePoint();
    if (!Take(words, "seen")) return true;
    seen = words.empty() ? std::nullopt : LevelCommands::ReadToken(words.front());
    if (seen) words = words.subspan(1);
    return seen.has_value();
  }
  if (!Take(words, "staleness")) return true;
  const auto bound = TakeNumber(words, kLongestStaleness);
  if (bound) levels.staleness = milliseconds(*bound);
  return bound.has_value();
}

bool TakeWrite(resp::Arguments& words, Levels& levels) {
  levels.write.reset();
  if (Take(words, "mode")) return true;
  if (Take(words, "all")) {
    levels.write = 0;
  } else if (const auto members = TakeNumber(words, kMaxMembers)) {
    levels.write = static_cast<std::uint32_t>(*members);
  }
  return levels.write.has_value();
}

}  // namespace

std::span<const KeyCommand> LevelRows() { return kLevelRows; }

std::optional<TimePoint> LevelCommands::ReadToken(std::string_view word) {
  const auto number = resp::ParseUnsigned(word);
  if (!number || *number == 0 || *number > kLatestSeen) return std::nullopt;
  return TimePoint(milliseconds(*number));
}

bool LevelCommands::Set(Request& request, Levels& levels) const {
  if (!request.error.empty() || request.arguments.size() == 1) return false;
  Levels next = levels;
  std::optional<TimePoint> seen;
  bool valid = true;
  for (resp::Arguments words = request.arguments.subspan(1); valid && !words.empty();) {
    if (Take(words, "read")) {
      valid = TakeRead(words, next, seen);
    } else {
      valid = Take(words, "write") && TakeWrite(words, next);
    }
  }
  const Cluster* const cluster = service_.main.cluster;
  if (!valid) {
    request.error = kSyntax;
  } else if (next.relaxed && cluster == nullptr) {
    request.error = "ERR this node is alone, and every read is strong: start it with --join";
  } else if (IsShared() && (next.strong || next.staleness || next.causal)) {
    request.error = kNotShared;
  } else if (next.write.value_or(0) > 1 && (cluster == nullptr || cluster->members == nullptr)) {
    request.error = "ERR there is one store: WRITE is mode, all or 1; start nodes with --datalet";
  } else {
    levels = next;
    request.seen = seen;
    request.status = "OK";
  }
  return request.error.empty();
}

std::vector<std::string> LevelCommands::Spell(const Levels& levels,
                                              const internal::CausalToken& seen) {
  std::vector<std::string> words = {"READ", levels.causal    ? "causal"
                                            : levels.relaxed ? "relaxed"
                                            : levels.strong  ? "strong"
                                                             : "mode"};
  if (levels.staleness) {
    const auto bound = std::chrono::duration_cast<milliseconds>(*levels.staleness);
    words.insert(words.end(), {"STALENESS", std::to_string(bound.count())});
  }
  if (levels.causal) {
    const auto token = std::chrono::ceil<milliseconds>(seen.seen().time_since_epoch());
    words.insert(words.end(), {"SEEN", std::to_string(token.count())});
  }
  const auto write = levels.write;
  words.insert(words.end(), {"WRITE", !write        ? "mode"
                                      : *write == 0 ? "all"
                                                    : std::to_string(*write)});
  return words;
}

bool LevelCommands::IsShared() const {
  const Cluster* const cluster = table_->cluster;
  if (cluster == nullptr || cluster->members == nullptr) return false;
  const auto records = cluster->members->records();
  return records->config && records->config->value.mode == ReplicationMode::kAaEc;
}

bool LevelCommands::IsOne(const resp::Command& command) {
  return command.id == kStoutLevel || command.id == kStoutWait || command.id == kWait ||
         command.name == "readonly" || command.name == "readwrite";
}

asio::awaitable<void> LevelCommands::Run(Request& request) {
  if (request.seen) {
    seen_.Set(*request.seen == TimePoint() ? UnixTime() : *request.seen);
    co_return;
  }
  std::uint32_t members = 0;
  if (request.command->id != kStoutLevel) members = co_await Wait(request);
  if (!request.error.empty()) co_return;
  request.replies = &replies_;
  request.reply_begin = replies_.size();
  resp::ReplyWriter reply(replies_, session_.version);
  if (request.command->id == kStoutLevel) {
    reply.BulkString(fmt::format("{}", fmt::join(Spell(request.levels, seen_), " ")));
  } else {
    reply.Integer(members);
  }
  request.reply_end = replies_.size();
}

// --- WAIT ----------------------------------------------------------------------------------------

struct LevelCommands::Question {
  std::uint32_t members = 0;
  milliseconds timeout{};
  std::uint32_t least = kMaxMembers;  // of all ranges
  std::string error{};

  void Fail(Errc errc) {
    error =
        errc == Errc::kFenced ? kNewOwner : fmt::format("UNKNOWN {}", ErrorCode(errc).message());
  }
};

asio::awaitable<std::uint32_t> LevelCommands::Wait(Request& request) {
  resp::Arguments words = request.arguments.subspan(1);
  const auto members = resp::ParseUnsigned(words[0]);
  const auto timeout = resp::ParseUnsigned(words[1]);
  words = words.subspan(2);
  if (!members || !timeout || words.size() % 2 != 0)
    co_return Refuse<std::uint32_t>(request, kWaitSyntax);
  const auto longest = static_cast<std::uint64_t>(
      std::chrono::duration_cast<milliseconds>(service_.reply_deadline).count());
  Question question{
      .members = static_cast<std::uint32_t>(std::min<std::uint64_t>(*members, kMaxMembers)),
      .timeout = milliseconds(*timeout == 0 ? longest : std::min(*timeout, longest))};
  if (table_->cluster == nullptr || table_->cluster->members == nullptr) co_return 1;
  if (IsShared()) co_return Refuse<std::uint32_t>(request, kNotCounted);
  if (request.command->id == kStoutWait) {
    Writes writes;
    for (; !words.empty(); words = words.subspan(2)) {
      const auto range = resp::ParseUnsigned(words[0]);
      const auto epoch = resp::ParseUnsigned(words[1]);
      if (!range || *range >= table_->ranges.partition().ranges || !epoch)
        co_return Refuse<std::uint32_t>(request, kWaitSyntax);
      writes[static_cast<RangeId>(*range)] = *epoch;
    }
    co_await CountHere(question, writes);
  } else if (writes_.empty()) {
    co_return FewestIn();
  } else {
    co_await CountAll(question);
    if (question.error == kNewOwner) writes_.clear();
  }
  request.error = question.error;
  co_return question.least;
}

// A connection that wrote nothing has all its writes at every member that is in.
std::uint32_t LevelCommands::FewestIn() const {
  const auto records = table_->cluster->members->records();
  std::uint32_t least = records->sets.empty() ? 0 : kMaxMembers;
  for (const auto& [range, set] : records->sets) {
    const auto in = std::ranges::count_if(set.value.members, &RangeRecord::Member::in);
    least = std::min(least, static_cast<std::uint32_t>(in));
  }
  return least;
}

asio::awaitable<void> LevelCommands::CountAll(Question& question) {
  std::map<std::string, Writes> by_owner;
  for (const auto& [range, epoch] : writes_) {
    const auto owner = table_->ranges.LeaseOf(range);
    if (!owner || owner->epoch != epoch) {
      question.Fail(Errc::kFenced);
      co_return;
    }
    by_owner[owner->address][range] = epoch;
  }
  std::vector<asio::awaitable<void>> all;
  for (const auto& [owner, writes] : by_owner) {
    const bool here = owner == table_->cluster->self;
    all.push_back(here ? CountHere(question, writes) : CountAt(owner, question, writes));
  }
  co_await RunTogether(std::move(all));
}

asio::awaitable<void> LevelCommands::CountAt(const std::string& owner, Question& question,
                                             const Writes& writes) {
  const auto make = [&](Duration left) {
    const auto timeout = std::chrono::ceil<milliseconds>(left - kLate);  // 0 would be the longest
    resp::Commands commands;
    commands.Begin(3 + 2 * writes.size());
    commands.Argument("STOUT.WAIT");
    commands.Argument(std::to_string(question.members));
    commands.Argument(std::to_string(std::max<std::int64_t>(timeout.count(), 1)));
    for (const auto& [range, epoch] : writes) {
      commands.Argument(std::to_string(range));
      commands.Argument(std::to_string(epoch));
    }
    return commands;
  };
  const resp::Outcome outcome =
      co_await table_->cluster->peers.RunAlone(owner, make, question.timeout + kLate);
  if (outcome.errc != Errc::kOk) {
    question.error = fmt::format("UNKNOWN node {}: {}", owner, outcome.message);
  } else if (outcome.replies.front().kind != resp::Reply::Kind::kInteger) {
    question.error = outcome.replies.front().text;
  } else {
    question.least =
        std::min(question.least, static_cast<std::uint32_t>(outcome.replies.front().integer));
  }
}

asio::awaitable<void> LevelCommands::CountHere(Question& question, const Writes& writes) {
  std::vector<asio::awaitable<void>> all;
  for (const auto& [range, epoch] : writes) all.push_back(CountRange(question, range, epoch));
  if (!all.empty()) co_await RunTogether(std::move(all));
}

asio::awaitable<void> LevelCommands::CountRange(Question& question, RangeId range, Epoch epoch) {
  const auto [ec, have] = co_await Initiate<void(ErrorCode, std::uint32_t)>(
      [&](KeyMap::CountHandler done) {
        table_->ranges.Run(range, true,
                           [epoch, members = question.members, timeout = question.timeout,
                            done = std::move(done)](const RangeServer::Served& served) mutable {
                             // In mode aa+ec the map of another node may have made the change.
                             if (!served || served->shared || served->epoch != epoch)
                               return done(Errc::kFenced, 0);
                             served->map->Count(members, timeout, std::move(done));
                           });
      },
      asio::as_tuple(asio::use_awaitable));
  if (ec) {
    question.Fail(ec == Errc::kFenced || ec == Errc::kClosed ? Errc::kFenced : Errc::kUnknown);
  } else {
    question.least = std::min(question.least, have);
  }
}

}  // namespace stout::node
