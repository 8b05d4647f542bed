#include "node/node_batch.h"

#include <fmt/format.h>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "node/commands.h"
#include "resp/server/clock.h"
#include "resp/server/reply_writer.h"
#include "stout/completion.h"

namespace stout::node {
namespace {

namespace asio = boost::asio;

/// Maximum commands that are carried out together, as in blowfish-server.
constexpr std::size_t kMostCommands = 1024;

}  // namespace

NodeBatch::NodeBatch(NodeService& service, resp::Session& session)
    : service_(service),
      session_(session),
      execution_(service.map, KeyWalk(service.map, service.store, service.cursors), service.limits,
                 transaction_) {}

bool NodeBatch::Add(resp::Arguments arguments) {
  Request& request = requests_.emplace_back();
  request.arguments = arguments;
  Resolve(request);
  if (session_.authenticated) Transact(request);
  on_keys_ |= request.on_keys();
  const bool runs = request.command != nullptr && request.status.empty();
  return !runs || (request.command->flags & resp::CommandFlag::kEndsBatch) == 0;
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
}

void NodeBatch::Transact(Request& request) {
  const int id = request.command != nullptr ? request.command->id : 0;
  switch (id) {
    case CommandId::kMulti:
      if (transaction_.open()) {
        request.error = "ERR MULTI calls can not be nested";
      } else {
        transaction_.Begin();
        request.status = "OK";
      }
      return;
    case CommandId::kWatch:
      if (!service_.store.traits().compares_stamps)
        request.error = "ERR WATCH needs a store that compares stamps; see docs/STORES.md";
      if (transaction_.open()) request.error = "ERR WATCH inside MULTI is not allowed";
      return;
    case CommandId::kDiscard:
      if (!transaction_.open()) request.error = "ERR DISCARD without MULTI";
      (void)transaction_.End();
      return;
    case CommandId::kExec:
      return TakeQueue(request);
    default:
      if (transaction_.open()) Queue(request);
  }
}

void NodeBatch::Queue(Request& request) {
  constexpr unsigned kAlone = resp::CommandFlag::kNoMulti | resp::CommandFlag::kEndsBatch;
  if (request.command != nullptr && request.command->name == "quit") return;
  if (request.error.empty() && ((request.command->flags & kAlone) != 0 || KeyWalk::Runs(request))) {
    request.error = "ERR Command not allowed inside a transaction";
  } else if (request.error.empty() &&
             !transaction_.Queue(request.arguments, service_.limits.commands.max_request)) {
    request.error = fmt::format("ERR a transaction has at most {} commands and --max-request bytes",
                                Transaction::kMostQueued);
  }
  if (request.error.empty()) {
    request.status = "QUEUED";
  } else {
    transaction_.Break();
  }
}

void NodeBatch::TakeQueue(Request& request) {
  if (!transaction_.open()) {
    request.error = "ERR EXEC without MULTI";
    return;
  }
  request.aborted = transaction_.broken();
  request.words = transaction_.End();
  if (request.aborted) request.words.clear();  // it ends the watch all the same
  for (const Transaction::Words& words : request.words) {
    Request& queued = request.queued.emplace_back();
    queued.arguments = words_.Keep(std::vector<std::string_view>(words.begin(), words.end()));
    Resolve(queued);
  }
}

void NodeBatch::Check(Request& request) const {
  if (request.command->id == 0) {
    request.error = "ERR not a command of its own; see COMMAND DOCS";
  } else if (const auto parse = RowOf(*request.command).parse) {
    parse(request);
  }
}

bool NodeBatch::full() const { return requests_.size() >= kMostCommands; }

void NodeBatch::Clear() {
  requests_.clear();
  words_.Clear();
  on_keys_ = false;
  execution_.Clear();
}

asio::awaitable<void> NodeBatch::Run(std::string& out) {
  const TimePoint begin = resp::Now();
  if (on_keys_) {
    co_await Initiate<void()>(
        [this](UniqueFunction<void()> done) {
          asio::post(service_.map.get_executor(), [this, done = std::move(done)]() mutable {
            execution_.Start(requests_, session_.version, std::move(done));
          });
        },
        asio::use_awaitable);
  }
  if (execution_.fenced()) service_.OnFenced();
  Join(out);
  const Duration latency = resp::Now() - begin;
  for (const Request& request : requests_) {
    if (request.command != nullptr) {
      service_.command_stats.Done(*request.command, latency, request.failed);
    } else if (const auto* const named = service_.commands.Named(request.arguments)) {
      service_.command_stats.Rejected(*named);
    }
  }
}

void NodeBatch::Join(std::string& out) {
  for (Request& request : requests_) {
    Reply(request, out);
    if (out.size() > service_.limits.max_replies)
      throw std::length_error("its replies are larger than --max-replies");
  }
}

void NodeBatch::Reply(Request& request, std::string& out) {
  const std::size_t begin = out.size();
  resp::ReplyWriter reply(out, session_.version);
  if (!request.error.empty()) {
    reply.Error(request.error);
  } else if (!request.status.empty()) {
    reply.SimpleString(request.status);
  } else if (request.command->id == CommandId::kExec) {
    if (request.aborted) return reply.NullArray();
    reply.ArrayHeader(request.queued.size());
    for (Request& queued : request.queued) Reply(queued, out);
  } else if (request.command->run != nullptr) {
    request.command->run({*request.command, request.arguments, service_, session_, reply});
  } else {
    out.append(execution_.replies(), request.reply_begin, request.reply_end - request.reply_begin);
  }
  request.failed = begin < out.size() && out[begin] == '-';
  if (request.failed) service_.command_stats.Error(std::string_view(out).substr(begin));
}

}  // namespace stout::node
