#include "cluster/cluster_engine.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "cluster/placement.h"

namespace stout {

namespace asio = boost::asio;
using redis::Reply;
using redis::Request;
using redis::Server;

RedisClusterStore::Engine::Engine(const Options& options, const redis::Replication& replication,
                                  redis::SlotMap map, const asio::any_io_executor& strand)
    : mode(options.mode),
      layout(options),
      map_at_open(std::move(map)),
      topology(std::make_shared<redis::Topology>(std::make_shared<const RedisOptions>(options),
                                                 map_at_open, options.seeds, strand)),
      replication_(replication) {}

asio::awaitable<void> RedisClusterStore::Engine::Run(std::span<Request> requests,
                                                     redis::IsAnswer is_answer) {
  return redis::Dispatch(topology, Server::Kind::kWrite, replication_, std::move(is_answer),
                         requests);
}

// The epoch first: what comes after it must not be there if it is not remembered.
asio::awaitable<WriteResult> RedisClusterStore::Engine::Write(Epoch epoch,
                                                              redis::ClusterWrite write) {
  const bool noted = co_await NoteEpoch(epoch);
  if (!noted) {
    const WriteResult nothing_done{Errc::kTransient, {}};
    co_return nothing_done;
  }
  co_await Run(write.requests(),
               [&](const Request& request) { return write.IsAnswer(layout, request); });
  co_return write.Result(layout);
}

asio::awaitable<ReadResult> RedisClusterStore::Engine::Read(std::vector<Request> requests) {
  // Nothing is replicated by it.
  const redis::Replication none;
  co_await redis::Dispatch(
      topology, Server::Kind::kRead, none,
      [](const Request& request) { return redis::Layout::IsAnswerToRead(request.reply, 1); },
      requests);
  ReadResult result;
  result.states.resize(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    StoredState* const state = &result.states[i];
    const bool decoded = requests[i].errc == Errc::kOk &&
                         layout.DecodeRead(std::move(requests[i].reply), {&state, 1});
    if (!decoded) {
      const ReadResult failed{Errc::kTransient, {}};
      co_return failed;
    }
  }
  co_return result;
}

Request RedisClusterStore::Engine::EpochRequest() const {
  return {.slot = redis::SlotOf(layout.EpochKey())};
}

asio::awaitable<bool> RedisClusterStore::Engine::NoteEpoch(Epoch epoch) {
  if (epoch <= noted_epoch_) co_return true;
  Request request = EpochRequest();
  layout.AppendNoteEpoch(epoch, &request.command);
  const auto is_noted = [](const Request& done) {
    return redis::Layout::DecodeNoteEpoch(done.reply);
  };
  co_await Run({&request, 1}, is_noted);
  if (request.errc != Errc::kOk || !is_noted(request)) co_return false;
  noted_epoch_ = std::max(noted_epoch_, epoch);
  co_return true;
}

asio::awaitable<Result<Epoch>> RedisClusterStore::Engine::NewEpoch() {
  Request request = EpochRequest();
  layout.AppendNewEpoch(&request.command);
  co_await Run({&request, 1}, [](const Request& done) {
    return redis::Layout::DecodeNewEpoch(done.reply).has_value();
  });
  const std::optional<Epoch> epoch = redis::Layout::DecodeNewEpoch(request.reply);
  // One that is lost on the way is given to nobody.
  if (request.errc != Errc::kOk || !epoch) co_return Errc::kTransient;
  noted_epoch_ = std::max(noted_epoch_, *epoch);
  co_return *epoch;
}

asio::awaitable<Errc> RedisClusterStore::Engine::Fence(Scope scope, Epoch epoch) {
  const bool noted = co_await NoteEpoch(epoch);
  if (!noted) co_return Errc::kTransient;
  std::vector<Request> requests(redis::kSlots);
  for (std::size_t s = 0; s < requests.size(); ++s) {
    const auto slot = static_cast<redis::Slot>(s);
    requests[s].slot = slot;
    layout.AppendFence(redis::FenceKeyIn(slot, layout, scope), epoch, &requests[s].command);
  }
  co_await Run(requests, [](const Request& done) {
    return redis::Layout::DecodeFence(done.reply).has_value();
  });
  // Where one is lost on the way it fences, now or later, whom the next attempt fences too.
  bool everywhere = true;
  bool fenced = false;
  for (const Request& done : requests) {
    std::optional<Errc> errc;
    if (done.errc == Errc::kOk) errc = redis::Layout::DecodeFence(done.reply);
    everywhere = everywhere && errc;
    fenced = fenced || errc == Errc::kFenced;
  }
  if (!everywhere) co_return Errc::kTransient;
  co_return fenced ? Errc::kFenced : Errc::kOk;
}

}  // namespace stout
