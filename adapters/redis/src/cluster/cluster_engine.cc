#include "cluster/cluster_engine.h"

#include <spdlog/spdlog.h>

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

asio::awaitable<void> RedisClusterStore::Engine::Run(std::span<Request> requests) {
  return redis::Dispatch(topology, Server::Kind::kWrite, replication_, requests);
}

// The epoch first: what comes after it must not be there if it is not remembered.
asio::awaitable<WriteResult> RedisClusterStore::Engine::Write(Epoch epoch,
                                                              redis::ClusterWrite write) {
  const bool noted = co_await NoteEpoch(epoch);
  if (!noted) {
    const WriteResult nothing_done{Errc::kTransient, {}};
    co_return nothing_done;
  }
  co_await Run(write.requests());
  bool understood = true;
  WriteResult result = write.Result(layout, &understood);
  if (!understood) ReportSenseless();
  co_return result;
}

asio::awaitable<ReadResult> RedisClusterStore::Engine::Read(std::vector<Request> requests) {
  // Nothing is replicated by it.
  const redis::Replication none;
  co_await redis::Dispatch(topology, Server::Kind::kRead, none, requests);
  ReadResult result;
  result.states.resize(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    StoredState* const state = &result.states[i];
    const bool answered = requests[i].errc == Errc::kOk && !requests[i].reply.error();
    const bool decoded = answered && layout.DecodeRead(std::move(requests[i].reply), {&state, 1});
    if (answered && !decoded) ReportSenseless();
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
  co_await Run({&request, 1});
  if (request.errc != Errc::kOk || request.reply.error()) co_return false;
  if (!redis::Layout::DecodeNoteEpoch(request.reply)) {
    ReportSenseless();
    co_return false;
  }
  noted_epoch_ = std::max(noted_epoch_, epoch);
  co_return true;
}

asio::awaitable<Result<Epoch>> RedisClusterStore::Engine::NewEpoch() {
  Request request = EpochRequest();
  layout.AppendNewEpoch(&request.command);
  co_await Run({&request, 1});
  // One that is lost on the way is given to nobody.
  if (request.errc != Errc::kOk || request.reply.error()) co_return Errc::kTransient;
  const std::optional<Epoch> epoch = redis::Layout::DecodeNewEpoch(request.reply);
  if (!epoch) {
    ReportSenseless();
    co_return Errc::kTransient;
  }
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
  co_await Run(requests);
  // Where one is lost on the way it fences, now or later, whom the next attempt fences too.
  bool everywhere = true;
  bool fenced = false;
  for (const Request& done : requests) {
    const bool answered = done.errc == Errc::kOk && !done.reply.error();
    std::optional<Errc> errc;
    if (answered) errc = redis::Layout::DecodeFence(done.reply);
    if (answered && !errc) ReportSenseless();
    everywhere = everywhere && errc;
    fenced = fenced || errc == Errc::kFenced;
  }
  if (!everywhere) co_return Errc::kTransient;
  co_return fenced ? Errc::kFenced : Errc::kOk;
}

void RedisClusterStore::Engine::ReportSenseless() {
  if (!std::exchange(reported_senseless_, true)) {
    spdlog::warn("redis-cluster: an answer makes no sense: it counts as lost");
  }
}

}  // namespace stout
