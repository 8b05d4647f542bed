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

struct Subrequest {
  Request* request;
  RedisAddress to;
  bool asking = false;
};

// The requests that are sent to one node together.
struct RoundTrip {
  RedisAddress to;
  std::vector<Subrequest> subrequests{};
};

std::vector<RoundTrip> Plan(const std::vector<Subrequest>& subrequests) {
  std::vector<RoundTrip> round_trips;
  for (const Subrequest& subrequest : subrequests) {
    // There are few nodes, and mostly it is the last one.
    auto round_trip = std::find_if(round_trips.rbegin(), round_trips.rend(),
                                   [&](const RoundTrip& t) { return t.to == subrequest.to; });
    if (round_trip == round_trips.rend()) {
      round_trips.push_back({subrequest.to});
      round_trip = round_trips.rbegin();
    }
    round_trip->subrequests.push_back(subrequest);
  }
  return round_trips;
}

void SetErrc(const RoundTrip& round_trip, Errc errc) {
  for (const Subrequest& subrequest : round_trip.subrequests) subrequest.request->errc = errc;
}

asio::awaitable<void> Send(RoundTrip& round_trip, const Replication& replication,
                           const IsAnswer& is_answer, Connection& connection) {
  Commands commands;
  for (const Subrequest& subrequest : round_trip.subrequests) {
    if (subrequest.asking) commands.Add({"ASKING"});
    commands.Append(subrequest.request->command);
  }
  replication.Append(&commands);
  Outcome outcome = co_await connection.RunScripts(commands);
  if (outcome.errc != Errc::kOk) co_return SetErrc(round_trip, outcome.errc);
  const bool safe = replication.replicas == 0 || replication.Reached(outcome.replies.back());
  bool understood = true;
  auto reply = outcome.replies.begin();
  for (const Subrequest& subrequest : round_trip.subrequests) {
    if (subrequest.asking) ++reply;
    Request& request = *subrequest.request;
    request.reply = std::move(*reply++);
    request.errc = safe || request.reply.error() ? Errc::kOk : Errc::kUnknown;
    understood = understood && (request.reply.error() || is_answer(request));
  }
  if (understood) co_return;
  connection.Distrust();
  SetErrc(round_trip, Errc::kUnknown);
}

asio::awaitable<void> SendAll(Topology& topology, Server::Kind kind, const Replication& replication,
                              const IsAnswer& is_answer, std::vector<RoundTrip>& round_trips) {
  Gathering gathering(topology.strand());
  for (RoundTrip& round_trip : round_trips) {
    // If too many calls wait already, the job is destroyed with its ticket.
    (void)topology.At(round_trip.to)
        .Submit(kind,
                [&round_trip, &replication, &is_answer,
                 ticket = gathering.Add()](Connection* with) -> asio::awaitable<void> {
                  if (with != nullptr) co_await Send(round_trip, replication, is_answer, *with);
                });
  }
  // A node that stands still tells nobody that another has taken its place.
  while (!co_await gathering.WaitFor(kPatience)) topology.Doubt();
}

// Returns the requests that must be repeated at another node.
std::vector<Subrequest> Redirected(Topology& topology, const std::vector<RoundTrip>& round_trips) {
  std::vector<Subrequest> subrequests;
  for (const RoundTrip& round_trip : round_trips) {
    for (const Subrequest& subrequest : round_trip.subrequests) {
      Request& request = *subrequest.request;
      if (request.errc != Errc::kOk) {
        topology.Doubt();
        continue;
      }
      if (!request.reply.error()) continue;
      const auto redirection = ParseRedirection(request.reply.text, round_trip.to);
      if (!redirection) {
        topology.Doubt();
        continue;
      }
      topology.Learn(*redirection);
      request.errc = Errc::kTransient;
      subrequests.push_back(
          {&request, redirection->node, redirection->kind == Redirection::Kind::kAsk});
    }
  }
  return subrequests;
}

}  // namespace

asio::awaitable<void> Dispatch(std::shared_ptr<Topology> topology, Server::Kind kind,
                               Replication replication, IsAnswer is_answer,
                               std::span<Request> requests) {
  std::vector<Subrequest> subrequests;
  for (Request& request : requests) {
    if (const RedisAddress* owner = topology->OwnerOf(request.slot)) {
      subrequests.push_back({&request, *owner});
    } else {
      topology->Doubt();
    }
  }
  for (int redirections = 0; !subrequests.empty() && redirections <= kMaxRedirections;
       ++redirections) {
    std::vector<RoundTrip> round_trips = Plan(subrequests);
    co_await SendAll(*topology, kind, replication, is_answer, round_trips);
    subrequests = Redirected(*topology, round_trips);
  }
}

}  // namespace stout::redis
