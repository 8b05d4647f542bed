#include "node/node_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/use_awaitable.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "node/commands.h"
#include "node/forward.h"
#include "resp/server/command_errors.h"
#include "resp/server/integer.h"
#include "resp/server/reply_writer.h"
#include "stout/clock.h"
#include "stout/core/range_actions.h"

namespace stout::node {
namespace {

namespace asio = boost::asio;

/// Maximum commands that are carried out together, as in blowfish-server.
constexpr std::size_t kMaxCommands = 1024;

/// Memory for commands that an idle client may hold.
constexpr std::size_t kRequestsKept = 128;

// The router passes over requests that are answered already.
Runner RunnerFor(const Request& request) {
  if (request.seen) return Runner::kLevels;
  return request.on_keys() ? RunnerOf(*request.command) : Runner::kRouter;
}

// Returns how many requests at the front are carried out together.
std::size_t LengthOfRun(std::span<const Request> requests) {
  const Request& first = requests.front();
  const Runner runner = RunnerFor(first);
  if (runner != Runner::kRouter && runner != Runner::kDatalet) return 1;
  const auto other = std::ranges::find_if(requests, [&](const Request& request) {
    return request.relaxed != first.relaxed || RunnerFor(request) != runner ||
           (runner == Runner::kDatalet && request.command != first.command);
  });
  return static_cast<std::size_t>(other - requests.begin());
}

bool ReadsOnly(const Request& request) {
  return request.command != nullptr && request.command->id != CommandId::kExec &&
         (request.command->run != nullptr || request.reads_only());
}

}  // namespace

NodeBatch::NodeBatch(NodeService& service, resp::Session& session)
    : service_(service),
      session_(session),
      table_(&service.main),
      router_(service, table_, session, reply_room_),
      reader_(service, table_, router_.seen(), session, reply_room_),
      level_commands_(service, table_, router_.writes(), router_.seen(), session),
      walk_(service, table_, router_, session, reply_room_),
      search_(service, table_, session, reply_room_),
      range_scan_(service, table_, session, reply_room_),
      datalet_(service, session),
      operations_(table_, session),
      tables_(service, table_, router_, session),
      tenants_(service, session) {}

bool NodeBatch::Add(resp::Arguments arguments) {
  Request& request = requests_.emplace_back();
  request.arguments = arguments;
  Resolve(request);
  if (session_.authenticated) Transact(request);
  if (request.command != nullptr && request.on_keys()) NoteUse(request);
  if (request.command == nullptr || !request.status.empty()) return true;
  // EXEC needs the states that WATCH brings.
  return (request.command->flags & resp::CommandFlag::kEndsBatch) == 0 &&
         request.command->id != CommandId::kWatch;
}

void NodeBatch::Resolve(Request& request) const {
  request.command = service_.commands.Resolve(request.arguments, request.error);
  if (request.command == nullptr) return;
  if (!session_.authenticated && (request.command->flags & resp::CommandFlag::kNoAuth) == 0) {
    request.error = "NOAUTH Authentication required.";
    request.command = nullptr;
    return;
  }
  if (request.command->run == nullptr) Check(request);
  request.rejected = !request.error.empty();
}

// Each use is noted once, at the client's node.
void NodeBatch::NoteUse(const Request& request) {
  if (request.epoch != 0 || table_ != &service_.main) return;
  for (std::size_t i = 0; i < request.keys(); ++i) service_.hot_keys.Use(request.key(i));
  for (const Request& queued : request.queued) {
    if (queued.on_keys()) NoteUse(queued);
  }
}

void NodeBatch::Transact(Request& request) {
  request.epoch = peer_epoch_;
  request.tenant = tenant_;
  request.levels = levels_;
  const int id = request.command != nullptr ? request.command->id : 0;
  switch (id) {
    case CommandId::kMulti:
      if (!request.error.empty()) return;
      if (transaction_.open()) {
        request.error = "ERR MULTI calls can not be nested";
      } else {
        transaction_.Begin();
        request.status = "OK";
      }
      return;
    case CommandId::kWatch:
      if (!table_->store.traits().compares_stamps)
        request.error = "ERR WATCH needs a store that compares stamps; see docs/STORES.md";
      if (transaction_.open()) request.error = "ERR WATCH inside MULTI is not allowed";
      return;
    case CommandId::kDiscard:
      if (!transaction_.open()) return Refuse<void>(request, "ERR DISCARD without MULTI");
      (void)transaction_.End();
      (void)transaction_.Unwatch();
      return;
    case CommandId::kExec:
      return TakeQueue(request);
    case CommandId::kStoutPeer:
      return transaction_.open() ? Queue(request) : TakePeer(request);
    case CommandId::kStoutTag:
      if (transaction_.open()) return Queue(request);
      if (const auto tenant = tenants_.Tag(request)) tenant_ = *tenant;
      return;
    case CommandId::kStoutExec:
      return transaction_.open() ? Queue(request) : TakeForwardedExec(request);
    default:
      if (request.command != nullptr && request.command->name == "reset") return Reset();
      if (transaction_.open()) return Queue(request);
      if (id == CommandId::kStoutPage && peer_epoch_ == 0)
        request.error = "ERR STOUT.PAGE is for nodes of a deployment";
      if (id == CommandId::kUnwatch) (void)transaction_.Unwatch();
      if (request.command != nullptr && ShowsOwners(*request.command))
        router_.set_redirects(service_.main.cluster != nullptr && table_ == &service_.main &&
                              !table_->ranges.partition().intervals());
      if (request.command != nullptr) SetLevels(request);
      request.relaxed = request.epoch == 0 && request.command != nullptr && request.on_keys() &&
                        RelaxedReader::Suits(request) &&
                        (levels_.relaxed || (!levels_.strong && IsShared(request)));
      // The states of the watched keys are of the table in use.
      if (id == CommandId::kStoutTable && transaction_.watches())
        request.error = "ERR STOUT.TABLE after WATCH is not allowed: UNWATCH first";
  }
}

bool NodeBatch::IsShared(const Request& request) const {
  const Ranges& ranges = table_->ranges;
  return request.AllKeys([&](KeyView key) { return ranges.IsShared(ranges.RangeOf(key)); });
}

void NodeBatch::Reset() {
  (void)transaction_.End();
  (void)transaction_.Unwatch();
  peer_epoch_ = 0;
  tenant_ = 0;
  levels_ = {};
  router_.set_redirects(false);
}

void NodeBatch::SetLevels(Request& request) {
  const bool readonly = request.command->name == "readonly";
  if (readonly || request.command->name == "readwrite") {
    levels_.relaxed = readonly && service_.main.cluster != nullptr;
    levels_.causal = false;
    levels_.staleness.reset();
    levels_.strong = false;
  } else if (request.command->id != CommandId::kStoutLevel ||
             !level_commands_.Set(request, levels_)) {
    return;
  }
  reader_.Forget();
}

void NodeBatch::Queue(Request& request) {
  constexpr unsigned kAlone = resp::CommandFlag::kNoMulti | resp::CommandFlag::kEndsBatch;
  if (request.command != nullptr && request.command->name == "quit") return;
  // As in redis, EXEC reports what is wrong with the arguments, except for their number.
  if (request.command != nullptr) request.error.clear();
  if (request.error.empty() &&
      ((request.command->flags & kAlone) != 0 || RunnerOf(*request.command) == Runner::kKeyWalk ||
       LevelCommands::IsOne(*request.command))) {
    request.error = "ERR Command not allowed inside a transaction";
  } else if (request.error.empty() &&
             !transaction_.Queue(request.arguments, service_.limits.commands.max_request)) {
    request.error =
        fmt::format("ERR a transaction has at most {} commands, {} words and --max-request bytes",
                    Transaction::kMaxQueued, Transaction::kMaxWords);
  }
  if (request.error.empty()) {
    request.status = "QUEUED";
  } else {
    transaction_.Break();
  }
}

void NodeBatch::TakeQueue(Request& request) {
  if (!transaction_.open()) return Refuse<void>(request, "ERR EXEC without MULTI");
  const bool broken = transaction_.broken();
  request.words = transaction_.End();
  request.watched = transaction_.Unwatch();
  if (broken)
    return Refuse<void>(request, "EXECABORT Transaction discarded because of previous errors.");
  for (const Transaction::Words& words : request.words) {
    Request& queued = request.queued.emplace_back();
    queued.arguments = words_.Keep(std::vector<std::string_view>(words.begin(), words.end()));
    Resolve(queued);
  }
}

void NodeBatch::TakePeer(Request& request) {
  peer_epoch_ = resp::ParseUnsigned(request.arguments[1]).value_or(0);
  tenant_ = 0;
  levels_ = {};
  if (peer_epoch_ != 0) {
    request.status = "OK";
  } else {
    request.error = resp::kNotPositive;
  }
}

void NodeBatch::TakeForwardedExec(Request& request) {
  bool valid = peer_epoch_ != 0 && ReadForwardedExec(request) &&
               request.queued.size() <= Transaction::kMaxQueued;
  for (Request& queued : request.queued) {
    Resolve(queued);
    valid = valid && queued.on_keys() && queued.keys() > 0 && RowOf(*queued.command).run != nullptr;
  }
  request.command = service_.commands.Find("exec");
  if (!valid) request.error = "ERR malformed: STOUT.EXEC is for nodes of a deployment";
}

bool NodeBatch::IsOnMembersKey(const Request& request) const {
  const Cluster* const cluster = service_.main.cluster;
  if (cluster == nullptr || cluster->members == nullptr) return false;
  return !request.AllKeys([](KeyView key) { return !key.starts_with(internal::kInternalKeys); });
}

void NodeBatch::Check(Request& request) const {
  // The input may have larger arguments, for STOUT.WRITE and for pages that begin behind a key.
  const bool is_page =
      request.command->id == CommandId::kStoutRange || request.command->id == CommandId::kStoutPage;
  const std::size_t most = service_.limits.commands.max_bulk;
  const auto too_large = [&](std::string_view argument) {
    const std::size_t behind = is_page && argument.ends_with('\0') ? 1 : 0;
    return argument.size() > most + behind;
  };
  const auto large = std::ranges::find_if(request.arguments, too_large);
  if (request.command->id == 0) {
    request.error = "ERR not a command of its own; see COMMAND DOCS";
  } else if (table_->dropped && request.command->id != CommandId::kStoutTable) {
    request.error =
        fmt::format("ERR table {} was dropped: STOUT.TABLE USE another, or default", table_->name);
  } else if (RunnerOf(*request.command) != Runner::kDatalet && large != request.arguments.end()) {
    request.error = fmt::format("ERR an argument has {} bytes: at most {}, raise --max-value",
                                large->size(), most);
  } else if (IsOnMembersKey(request)) {
    request.error =
        fmt::format("ERR keys that begin with '{}' belong to the members", internal::kInternalKeys);
  } else if (const auto parse = RowOf(*request.command).parse) {
    parse(request);
    if (request.set.expiry && !table_->store.traits().opaque_values)
      request.error =
          "ERR keys cannot expire on this store as it is opened: its URL needs ?expiry=true; see "
          "docs/STORES.md";
  }
}

bool NodeBatch::full() const { return requests_.size() >= kMaxCommands; }

void NodeBatch::Clear() {
  requests_.clear();
  if (requests_.capacity() > kRequestsKept) requests_.shrink_to_fit();
  words_.Clear();
  router_.Clear();
  reader_.Clear();
  walk_.Clear();
  search_.Clear();
  range_scan_.Clear();
  datalet_.Clear();
  operations_.Clear();
  tables_.Clear();
  level_commands_.Clear();
  tenants_.Clear();
}

asio::awaitable<void> NodeBatch::RunAlike(std::span<Request> requests) {
  Request& first = requests.front();
  if (first.relaxed) {
    co_await reader_.Run(requests);
    co_return co_await router_.Run(requests);
  }
  switch (RunnerFor(first)) {
    case Runner::kRouter:
      co_return co_await router_.Run(requests);
    case Runner::kKeyWalk:
      co_await walk_.Run(first);
      break;
    case Runner::kValueSearch:
      co_await search_.Run(first);
      break;
    case Runner::kRangeScan:
      co_await range_scan_.Run(first);
      break;
    case Runner::kDatalet:
      co_return co_await datalet_.Run(requests);
    case Runner::kOperations:
      co_return co_await operations_.Run(first);
    case Runner::kTables:
      co_return co_await tables_.Run(first);
    case Runner::kLevels:
      co_return co_await level_commands_.Run(first);
    case Runner::kTenants:
      co_return tenants_.Run(first);
  }
  router_.seen().Add(UnixTime());  // their replies have no stamps: what they show may be new
}

asio::awaitable<void> NodeBatch::Run(std::string& out) {
  const TimePoint begin = SteadyNow();
  reply_room_.Reset(service_.limits.max_replies);
  for (std::span<Request> left = requests_; !left.empty();) {
    const std::size_t done = LengthOfRun(left);
    co_await RunAlike(left.first(done));
    left = left.subspan(done);
  }
  for (Request& request : requests_) {
    const bool resets = request.command != nullptr && request.command->name == "reset";
    if (resets) table_ = &service_.main;
    if (resets) router_.writes().clear();
    if (!request.states.empty() && request.error.empty()) Watch(request);
  }
  const std::size_t most = out.size() + service_.limits.max_replies;
  for (Request& request : requests_) Reply(request, most, out);
  const Duration latency = SteadyNow() - begin;
  for (const Request& request : requests_) {
    if (request.command != nullptr) {
      service_.command_stats.Done(*request.command, latency, request.failed);
    } else if (const auto* const named = service_.commands.Named(request.arguments)) {
      service_.command_stats.Rejected(*named);
    }
  }
}

void NodeBatch::Watch(Request& request) {
  if (request.command->id != CommandId::kWatch) return;
  for (std::size_t i = 0; i < request.keys(); ++i) {
    if (transaction_.Watch(request.key(i), request.states[i], service_.limits.commands.max_request))
      continue;
    request.error = "ERR the watched keys are larger than --max-request";
  }
}

void NodeBatch::Reply(Request& request, std::size_t most, std::string& out) {
  const std::size_t begin = out.size();
  resp::ReplyWriter reply(out, session_.version);
  if (!request.error.empty()) {
    reply.Error(request.error);
  } else if (!request.status.empty()) {
    reply.SimpleString(request.status);
  } else if (request.command->id == CommandId::kExec) {
    if (request.aborted) return reply.NullArray();
    reply.ArrayHeader(request.queued.size());
    for (Request& queued : request.queued) Reply(queued, most, out);
  } else if (request.command->id == CommandId::kStoutPage) {
    RangeScan::ReplyPage(request, reply);
  } else if (request.command->run != nullptr) {
    request.command->run({*request.command, request.arguments, service_, session_, reply});
  } else {
    out += request.reply();
  }
  // The reply to a change must not say that it failed. Its values have taken room. A small reply to
  // another node has no room only if the replies before it are large.
  const std::size_t size = out.size() - begin;
  if (out.size() > most && size > kRepliesTooLarge.size() && ReadsOnly(request)) {
    out.resize(begin);
    const bool small = size <= service_.limits.max_replies / 2;
    reply.Error(request.epoch != 0 && small ? kNoRoomNow : kRepliesTooLarge);
  }
  request.failed = begin < out.size() && out[begin] == '-';
  if (request.failed) service_.command_stats.Error(std::string_view(out).substr(begin));
}

}  // namespace stout::node
