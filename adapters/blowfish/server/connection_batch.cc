#include "blowfish/server/connection_batch.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <memory>
#include <new>
#include <utility>

#include "blowfish/server/error_of_exception.h"
#include "blowfish/server/fan_out.h"
#include "blowfish/server/gather.h"
#include "stout/clock.h"
#include "stout/completion.h"

namespace stout::blowfish {
namespace {

namespace asio = boost::asio;

/// Maximum commands that are carried out together, and their subrequests.
constexpr std::size_t kMaxCommands = 1024;
constexpr std::size_t kMaxSubrequests = 16'384;

// Each command has the latency of its batch: its reply leaves with the others.
void CountCommands(const blowfish::Batch& batch, Duration latency, Service& service) {
  for (const Request& request : batch.requests) {
    if (request.command != nullptr) {
      service.command_stats.Done(*request.command, latency, request.failed);
    } else if (const auto* const named = service.commands.Named(request.arguments)) {
      service.command_stats.Rejected(*named);
    }
  }
}

}  // namespace

std::unique_ptr<resp::Batch> Service::MakeBatch(resp::Session& session) {
  return std::make_unique<ConnectionBatch>(*this, session);
}

ConnectionBatch::ConnectionBatch(Service& service, resp::Session& session)
    : service_(service), session_(session), batch_(service.shards.size()) {
  batch_.max_replies = service.limits.max_replies;
}

void ConnectionBatch::Clear() {
  batch_.Clear();
  batch_.version = session_.version;
}

bool ConnectionBatch::full() const {
  return batch_.requests.size() >= kMaxCommands || batch_.order.size() >= kMaxSubrequests;
}

bool ConnectionBatch::Add(resp::Arguments arguments) {
  return service_.dispatcher.Add(arguments, session_, batch_);
}

asio::awaitable<void> ConnectionBatch::Run(std::string& out) {
  const TimePoint begin = SteadyNow();
  {
    EpochTurn::Turn turn;
    Request& request = batch_.requests.back();
    const ShardCommand* const last = request.row;
    if (last != nullptr && last->alone && request.subrequests > 0) {
      // The commands before it come first, because other clients wait while it has its turn.
      batch_.TakeBack();
      if (!batch_.order.empty()) co_await Dispatch();
      FanOut fan_out(batch_);
      last->fan_out(fan_out);
      turn = co_await service_.epochs.Enter();
    }
    if (!batch_.order.empty()) co_await Dispatch();
    if (last != nullptr && last->on_disk != nullptr && request.error.empty())
      co_await UseDisk(request);
  }
  GatherReplies(batch_, service_, session_, out);
  CountCommands(batch_, SteadyNow() - begin, service_);
}

asio::awaitable<void> ConnectionBatch::UseDisk(Request& request) {
  co_await Initiate<void()>(
      [&](UniqueFunction<void()> done) {
        asio::post(service_.disk, [this, &request, done = std::move(done)]() mutable {
          try {
            request.row->on_disk(request, batch_);
          } catch (const std::exception&) {
            request.error = ErrorOfException();
          }
          done();
        });
      },
      asio::use_awaitable);
}

asio::awaitable<void> ConnectionBatch::Dispatch() {
  co_await Initiate<void()>(
      [this](UniqueFunction<void()> done) {
        batch_.done = std::move(done);
        batch_.open = static_cast<std::size_t>(std::ranges::count_if(
            batch_.parts, [](const SubBatch& part) { return !part.empty(); }));
        // The batch may be done while the last is pushed: it is not looked at afterwards.
        const std::size_t shards = batch_.parts.size();
        std::size_t left = batch_.open;
        for (std::size_t i = 0; i < shards && left > 0; ++i) {
          if (batch_.parts[i].empty()) continue;
          --left;
          try {
            service_.shards[i]->queue().Push(batch_.parts[i]);
          } catch (const std::bad_alloc&) {
            // The other shards have their sub-batches, or get them next. The connection waits for
            // those.
            batch_.parts[i].Refuse(kNoMemory);
            batch_.Done();
          }
        }
      },
      asio::use_awaitable);
}

}  // namespace stout::blowfish
