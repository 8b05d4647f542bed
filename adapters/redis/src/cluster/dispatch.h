#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <span>

#include "cluster/topology.h"
#include "operations.h"
#include "protocol.h"
#include "server.h"
#include "stout/adapters/hash_slot.h"
#include "stout/core/errc.h"

namespace stout::redis {

// One command whose keys are all in one slot, and what became of it.
struct Request {
  Slot slot = 0;
  Commands command{};

  // kOk: the node in charge has answered, perhaps with an error; without an error, the replicas
  // that were to be waited for have it. kTransient: it was not executed. kUnknown: it may have been
  // executed, or may be executed later.
  Errc errc = Errc::kTransient;
  Reply reply{};
};

// Returns true if an answer that is not an error has the shape of the request's answers.
using IsAnswer = std::function<bool(const Request&)>;

// Executes the requests, those of a node in one round trip, and follows redirections. Each node
// waits for `replication`. The requests must stay at their place until it returns.
//
// After an answer that `is_answer` does not accept, the answers of that connection may belong to
// other commands. Therefore all requests of the round trip are kUnknown, and the connection is
// dropped.
[[nodiscard]] boost::asio::awaitable<void> Dispatch(std::shared_ptr<Topology> topology,
                                                    Server::Kind kind, Replication replication,
                                                    IsAnswer is_answer,
                                                    std::span<Request> requests);

}  // namespace stout::redis
