#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <span>

#include "cluster/hash_slot.h"
#include "cluster/topology.h"
#include "operations.h"
#include "protocol.h"
#include "server.h"
#include "stout/core/errc.h"

namespace stout::redis {

// One command whose keys are all in one slot, and what became of it.
struct Request {
  Slot slot = 0;
  Commands command{};

  // kOk: the node in charge has answered, perhaps with an error, and if not, as many replicas have
  // it as were to be waited for. kTransient: it was not executed. kUnknown: it may have been, or
  // may yet be.
  Errc errc = Errc::kTransient;
  Reply reply{};
};

// Whether an answer that is no error has the shape that its request's command answers in.
using IsAnswer = std::function<bool(const Request&)>;

// Runs them, those of a node in one round trip, and follows redirections. `replication` is waited
// for by each node. The requests must stay where they are until it returns.
//
// After an answer that `is_answer` does not accept, the answers of that connection may belong to
// other commands: all requests of the round trip are kUnknown, and the connection is dropped.
[[nodiscard]] boost::asio::awaitable<void> Dispatch(std::shared_ptr<Topology> topology,
                                                    Server::Kind kind, Replication replication,
                                                    IsAnswer is_answer,
                                                    std::span<Request> requests);

}  // namespace stout::redis
