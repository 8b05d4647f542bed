#include "node/router.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <charconv>
#include <chrono>
#include <string_view>
#include <utility>

#include "node/commands.h"
#include "node/forward.h"
#include "node/peers.h"
#include "node/repetition.h"
#include "node/run_together.h"
#include "resp/server/reply_writer.h"
#include "stout/adapters/hash_slot.h"
#include "stout/clock.h"
#include "stout/completion.h"
#include "stout/core/backoff.h"
#include "stout/core/random.h"
#include "stout/core/range_actions.h"

namespace stout::node {
namespace {

namespace asio = boost::asio;

/// Pauses before a range is looked for again.
constexpr Backoff kLookAgain{std::chrono::milliseconds(10), std::chrono::milliseconds(200)};

/// Memory for replies that an idle client may hold.
constexpr std::size_t kRepliesKept = std::size_t{64} << 10;

constexpr std::string_view kCrossSlot =
    "CROSSSLOT the keys are in several ranges: give them the same {hash tag}";
constexpr std::string_view kCrossInterval =
    "CROSSSLOT the keys are in several ranges, which are intervals of keys (--partition): send one "
    "command for each range";

bool IsExec(const Request* request) { return request->command->id == CommandId::kExec; }
bool Stays(const Request* request) { return IsExec(request) || request->is_part; }

// Returns true if the command decides by what it reads, so that in mode aa+ec only the owner of the
// range may carry it out.
bool NeedsOwner(const Request* request) {
  const bool deletes =
      request->command->id == CommandId::kDel || request->command->id == CommandId::kUnlink;
  return request->command->id == CommandId::kWatch || IsExec(request) ||
         !(request->reads_only() || request->blind || deletes);
}

std::int64_t ToInteger(std::string_view reply) {
  std::int64_t number = 0;
  std::from_chars(reply.data() + 1, reply.data() + reply.size(), number);
  return number;
}

// Takes the front line, and the string of which it is the size.
std::string_view TakeFront(std::string_view& replies) {
  std::size_t size = replies.find('\n') + 1;
  if (replies.starts_with('$') && !replies.starts_with("$-"))
    size += static_cast<std::size_t>(ToInteger(replies)) + 2;
  const std::string_view front = replies.substr(0, size);
  replies.remove_prefix(front.size());
  return front;
}

}  // namespace

Router::Router(NodeService& service, Table* const& table, const resp::Session& session,
               ReplyRoom& room)
    : service_(service), table_(table), session_(session), room_(room) {}

Router::~Router() = default;

void Router::Clear() {
  groups_.resize(std::min<std::size_t>(used_, 1));
  for (const auto& group : groups_) {
    group->left.clear();
    group->replies.clear();
    if (group->replies.capacity() > kRepliesKept) group->replies.shrink_to_fit();
  }
  used_ = 0;
  by_range_.clear();
  words_.Clear();
  joined_ = {};
}

// --- Which range --------------------------------------------------------------------------------

void Router::Place(Request& request) {
  if (!request.on_keys() || request.served) return;
  if (request.command->id == CommandId::kExec) {
    const bool on_keys =
        !request.watched.empty() || std::ranges::any_of(request.queued, &Request::on_keys);
    if (!on_keys) return;
  }
  if (request.command->id == CommandId::kStoutPage) return AddPage(request);
  if (const auto range = RangeOf(request)) return Add(request, *range);
  switch (request.command->id) {
    case CommandId::kDel:
    case CommandId::kExists:
    case CommandId::kMget:
    case CommandId::kUnlink:
    case CommandId::kWatch:
      return Split(request);
    default:
      request.error = table_->ranges.partition().intervals() ? kCrossInterval : kCrossSlot;
  }
}

std::optional<RangeId> Router::RangeOf(const Request& request) const {
  std::optional<RangeId> range;
  const bool one = request.AllKeys([&](KeyView key) {
    const RangeId found = table_->ranges.RangeOf(key);
    if (!range) range = found;
    return *range == found;
  });
  return one ? range : std::nullopt;
}

void Router::Add(Request& request, RangeId range) {
  const auto [found, added] = by_range_.try_emplace(std::pair(range, request.epoch), used_);
  if (added) {
    if (used_ == groups_.size()) groups_.push_back(std::make_unique<Group>());
    groups_[used_]->range = range;
    groups_[used_]->epoch = request.epoch;
    ++used_;
  }
  Group& group = *groups_[found->second];
  group.left.push_back(&request);
  request.replies = &group.replies;
  for (Request& queued : request.queued) queued.replies = request.replies;
}

void Router::AddPage(Request& request) {
  const Ranges& ranges = table_->ranges;
  if (request.range >= ranges.partition().ranges) {
    request.error = "ERR there is no such range";
    return;
  }
  const bool members = table_->cluster != nullptr && table_->cluster->members != nullptr;
  request.scan.tenant = request.tenant;
  request.scan.wanted = [&ranges, range = request.range, members](KeyView key) {
    return ranges.RangeOf(key) == range && !(members && key.starts_with(internal::kInternalKeys));
  };
  Add(request, request.range);
}

void Router::Split(Request& request) {
  std::map<RangeId, std::vector<std::string_view>> words;
  for (std::size_t i = 0; i < request.keys(); ++i) {
    auto& command = words[table_->ranges.RangeOf(request.key(i))];
    if (command.empty()) command.push_back(request.command->name);
    command.push_back(request.key(i));
  }
  request.parts.reserve(words.size());
  for (const auto& [range, command] : words) {
    Request& part = request.parts.emplace_back();
    part.command = request.command;
    part.arguments = words_.Keep(command);
    part.range = range;
    part.is_part = true;
    part.epoch = request.epoch;
    part.tenant = request.tenant;
    part.levels = request.levels;
    Add(part, range);
  }
}

void Router::Join(Request& request) {
  std::int64_t sum = 0;
  bool any_done = false;
  struct Left {
    std::string_view replies;
    const KeyState* state = nullptr;
  };
  std::map<RangeId, Left> left;  // what the parts have, in the order of their keys
  const auto left_for = [&](std::size_t i) -> Left& {
    return left[table_->ranges.RangeOf(request.key(i))];
  };
  for (Request& part : request.parts) {
    any_done |= !part.reads_only() && !part.not_done();
    if (part.error.empty()) {
      Left& of_part = left[part.range] = {part.reply(), part.states.data()};
      sum += ToInteger(TakeFront(of_part.replies));  // of MGET: the number of values
    } else if (request.error.empty() || part.error.starts_with("UNKNOWN")) {
      request.error = std::move(part.error);
    }
  }
  if (!request.error.empty()) {
    if (any_done && request.not_done()) request.error = "ERR not all done: " + request.error;
    return;
  }
  request.replies = &joined_;
  request.reply_begin = joined_.size();
  resp::ReplyWriter reply(joined_, session_.version);
  if (request.command->id == CommandId::kMget) {
    reply.ArrayHeader(request.keys());
    for (std::size_t i = 0; i < request.keys(); ++i) joined_ += TakeFront(left_for(i).replies);
  } else if (request.command->id == CommandId::kWatch) {
    for (std::size_t i = 0; i < request.keys(); ++i) request.states.push_back(*left_for(i).state++);
    reply.Ok();
  } else {
    reply.Integer(sum);
  }
  request.reply_end = joined_.size();
}

// --- Where it is --------------------------------------------------------------------------------

asio::awaitable<void> Router::Run(std::span<Request> requests) {
  for (Request& request : requests) Place(request);
  std::vector<Group*> groups;
  for (std::size_t i = 0; i < used_; ++i) {
    if (!groups_[i]->left.empty()) groups.push_back(groups_[i].get());
  }
  if (groups.size() == 1) {
    co_await RunGroup(*groups.front());
  } else if (!groups.empty()) {
    std::vector<asio::awaitable<void>> all;
    all.reserve(groups.size());
    for (Group* const group : groups) all.push_back(RunGroup(*group));
    co_await RunTogether(std::move(all));
  }
  for (Request& request : requests) {
    if (!request.parts.empty()) Join(request);
  }
}

asio::awaitable<void> Router::RunGroup(Group& group) {
  const TimePoint deadline = SteadyNow() + service_.reply_deadline;
  SplitMix64 random(session_.id);
  for (std::uint32_t failures = 1;; ++failures) {
    RefuseStrong(group);
    co_await RunHere(group);
    if (group.left.empty() || table_->cluster == nullptr) break;
    const auto lease = table_->ranges.LeaseOf(group.range);
    if (group.epoch != 0) {
      // At once: while the node that sent it waits, it holds a connection that commands for other
      // ranges need. It pauses, and sends the group again.
      Redirect(group, lease ? lease->address : table_->cluster->self);
    } else if (lease && lease->address != table_->cluster->self) {
      // Not around a transaction, which is forwarded: the client would send the commands before it
      // again, after it. Nor parts: the client would follow each to another node, without end.
      if (redirects_ && std::ranges::none_of(group.left, Stays)) Redirect(group, lease->address);
      if (!group.left.empty()) co_await Forward(group, *lease);
      KeepDisplaced(group.left);
    }
    if (group.left.empty() || SteadyNow() >= deadline || table_->cluster->leaving) break;
    asio::steady_timer pause(co_await asio::this_coro::executor,
                             kLookAgain.Pause(failures, random));
    boost::system::error_code ignored;
    co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  group.left.clear();
}

// Nodes that all write cannot know the newest state.
void Router::RefuseStrong(Group& group) {
  if (!table_->ranges.IsShared(group.range)) return;
  std::erase_if(group.left, [](Request* request) {
    const Levels& levels = request->levels;
    const bool weak = !levels.strong && !levels.staleness && !levels.causal;
    if (weak || !request->reads_only()) return false;
    request->displaced = false;
    request->error = "ERR in mode aa+ec reads cannot be strong or causal, or have a STALENESS";
    return true;
  });
}

asio::awaitable<void> Router::RunHere(Group& group) {
  for (Request* const request : group.left) Reset(*request, room_);
  const bool alone = group.epoch != 0 || std::ranges::any_of(group.left, NeedsOwner);
  Epoch owner = 0;
  co_await Initiate<void()>(
      [&](UniqueFunction<void()> done) {
        table_->ranges.Run(
            group.range, alone,
            [&, done = std::move(done)](const RangeServer::Served& served) mutable {
              if (served && (group.epoch == 0 || group.epoch == served->epoch)) {
                owner = served->epoch;
                group.execution.emplace(served, group.left,
                                        Limits{service_.limits.commands.max_bulk, room_},
                                        table_->deadlines, session_.version, group.replies);
                return group.execution->Start(std::move(done));
              }
              for (Request* const request : group.left) {
                request->displaced = true;
                request->error = "TRYAGAIN not done: no node owns the key at present";
              }
              done();
            });
      },
      asio::use_awaitable);
  if (!group.execution) co_return;
  NoteWrites(group, owner);
  NoteSeen(group, group.execution->seen());
  if (const ServedRange* const served = group.execution->fenced()) table_->ranges.OnFenced(*served);
  group.execution.reset();
  KeepDisplaced(group.left);
  if (!group.left.empty()) group.replies.resize(group.left.front()->reply_begin);
}

void Router::NoteSeen(const Group& group, std::optional<TimePoint> seen) {
  const auto is_causal = [](const Request* request) { return request->levels.causal; };
  if (std::ranges::any_of(group.left, is_causal)) seen_.Add(seen.value_or(UnixTime()));
}

// For WAIT. A write that was not done does no harm here.
void Router::NoteWrites(const Group& group, Epoch owner) {
  const bool any = std::ranges::any_of(group.left, [](const Request* request) {
    return !request->reads_only() && !request->displaced;
  });
  if (any && group.epoch == 0) writes_.try_emplace(group.range, owner);
}

asio::awaitable<void> Router::Forward(Group& group, const Lease& owner) {
  resp::Commands commands;
  commands.Add({"STOUT.PEER", std::to_string(owner.epoch)});
  TenantId tenant = 0;
  Levels levels;
  std::size_t level_place = 0;                              // of the reply; 0: none is needed
  std::vector<std::pair<std::size_t, std::size_t>> places;  // of the replies, and of their levels'
  for (const Request* const request : group.left) {
    if (tenant != request->tenant) {
      tenant = request->tenant;
      commands.Add({"STOUT.TAG", service_.tenants->NameOf(tenant)});
    }
    if (levels != request->levels) {
      levels = request->levels;
      level_place = commands.count();
      AddLevels(levels, seen_, commands);
    }
    const bool levelled = request->reads_only() ? levels.strong : levels.write.has_value();
    places.emplace_back(commands.count(), levelled ? level_place : 0);
    AddForwarded(*request, commands);
  }
  if (levels.causal) commands.Add({"STOUT.LEVEL"});
  table_->cluster->forwarded += group.left.size();
  const resp::Outcome outcome =
      co_await table_->cluster->peers.Run(owner.address, group.range, commands);
  const bool answered = outcome.errc == Errc::kOk && !outcome.replies.front().error();
  const std::string& why =
      outcome.errc == Errc::kOk && !answered ? outcome.replies.front().text : outcome.message;
  for (std::size_t i = 0; i < group.left.size(); ++i) {
    Request& request = *group.left[i];
    Reset(request, room_);
    if (answered) {
      const auto [place, level] = places[i];
      TakeReply(request, outcome.replies[place], session_.version, room_, group.replies);
      if (outcome.replies[level].error() && request.error.empty())
        request.error =
            (request.reads_only() ? "" : "UNKNOWN whether it is durable at this level: ") +
            outcome.replies[level].text;
      continue;
    }
    request.displaced = outcome.errc != Errc::kUnknown || request.reads_only();
    request.error =
        request.displaced
            ? fmt::format("TRYAGAIN not done: node {}: {}", owner.address, why)
            : fmt::format("UNKNOWN whether it is done: node {}: {}", owner.address, why);
  }
  NoteWrites(group, owner.epoch);
  NoteSeen(group, answered && levels.causal ? TakeSeen(outcome.replies.back()) : std::nullopt);
}

void Router::Redirect(Group& group, const std::string& owner) {
  const auto [host, port] = HostAndPort(owner);
  for (Request* const request : group.left) {
    request->displaced = false;
    KeyView first;
    (void)request->AllKeys([&first](KeyView key) { return first = key, false; });
    request->error = fmt::format("MOVED {} {}:{}", redis::SlotOf(first), host, port);
  }
  group.left.clear();
}

}  // namespace stout::node
