#include "cluster/dispatch.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "cluster/gathering.h"
#include "cluster/redirection.h"

namespace stout::redis {
namespace {

namespace asio = boost::asio;

// As many as other clients of Redis follow; a slot that moves needs two, one that has moved on
// meanwhile another two.
constexpr int kMaxRedirections = 5;

// For an answer, before the map is asked for. Guess: a cluster takes longer to replace a node.
constexpr std::chrono::seconds kPatience{1};

struct Errand {
  Request* request;
  RedisAddress to;
  bool asking = false;
};

// The requests that are sent to one node together.
struct Trip {
  RedisAddress to;
  std::vector<Errand> errands{};
};

std::vector<Trip> Plan(const std::vector<Errand>& errands) {
  std::vector<Trip> trips;
  for (const Errand& errand : errands) {
    // There are few nodes, and mostly it is the last one.
    auto trip = std::find_if(trips.rbegin(), trips.rend(),
                             [&](const Trip& t) { return t.to == errand.to; });
    if (trip == trips.rend()) {
      trips.push_back({errand.to});
      trip = trips.rbegin();
    }
    trip->errands.push_back(errand);
  }
  return trips;
}

void SetErrc(const Trip& trip, Errc errc) {
  for (const Errand& errand : trip.errands) errand.request->errc = errc;
}

asio::awaitable<void> Travel(Trip& trip, const Replication& replication, const IsAnswer& is_answer,
                             Connection& connection) {
  Commands commands;
  for (const Errand& errand : trip.errands) {
    if (errand.asking) commands.Add({"ASKING"});
    commands.Append(errand.request->command);
  }
  replication.Append(&commands);
  Outcome outcome = co_await connection.RunScripts(commands);
  if (outcome.errc != Errc::kOk) co_return SetErrc(trip, outcome.errc);
  const bool safe = replication.replicas == 0 || replication.Reached(outcome.replies.back());
  bool understood = true;
  auto reply = outcome.replies.begin();
  for (const Errand& errand : trip.errands) {
    if (errand.asking) ++reply;
    Request& request = *errand.request;
    request.reply = std::move(*reply++);
    request.errc = safe || request.reply.error() ? Errc::kOk : Errc::kUnknown;
    understood = understood && (request.reply.error() || is_answer(request));
  }
  if (understood) co_return;
  connection.Distrust();
  SetErrc(trip, Errc::kUnknown);
}

asio::awaitable<void> MakeTrips(Topology& topology, Server::Kind kind,
                                const Replication& replication, const IsAnswer& is_answer,
                                std::vector<Trip>& trips) {
  Gathering gathering(topology.strand());
  for (Trip& trip : trips) {
    // If too many calls wait already, the job is destroyed with its ticket.
    (void)topology.At(trip.to).Submit(kind,
                                      [&trip, &replication, &is_answer, ticket = gathering.Add()](
                                          Connection* with) -> asio::awaitable<void> {
                                        if (with != nullptr)
                                          co_await Travel(trip, replication, is_answer, *with);
                                      });
  }
  // A node that stands still tells nobody that another has taken its place.
  while (!co_await gathering.WaitFor(kPatience)) topology.Doubt();
}

// Returns the requests that must be repeated at another node.
std::vector<Errand> Redirected(Topology& topology, const std::vector<Trip>& trips) {
  std::vector<Errand> errands;
  for (const Trip& trip : trips) {
    for (const Errand& errand : trip.errands) {
      Request& request = *errand.request;
      if (request.errc != Errc::kOk) {
        topology.Doubt();
        continue;
      }
      if (!request.reply.error()) continue;
      const auto redirection = ParseRedirection(request.reply.text, trip.to);
      if (!redirection) {
        topology.Doubt();
        continue;
      }
      topology.Learn(*redirection);
      request.errc = Errc::kTransient;
      errands.push_back(
          {&request, redirection->node, redirection->kind == Redirection::Kind::kAsk});
    }
  }
  return errands;
}

}  // namespace

asio::awaitable<void> Dispatch(std::shared_ptr<Topology> topology, Server::Kind kind,
                               Replication replication, IsAnswer is_answer,
                               std::span<Request> requests) {
  std::vector<Errand> errands;
  for (Request& request : requests) {
    if (const RedisAddress* owner = topology->OwnerOf(request.slot)) {
      errands.push_back({&request, *owner});
    } else {
      topology->Doubt();
    }
  }
  for (int redirections = 0; !errands.empty() && redirections <= kMaxRedirections; ++redirections) {
    std::vector<Trip> trips = Plan(errands);
    co_await MakeTrips(*topology, kind, replication, is_answer, trips);
    errands = Redirected(*topology, trips);
  }
}

}  // namespace stout::redis
