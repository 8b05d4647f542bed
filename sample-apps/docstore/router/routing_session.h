#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "http/body_budget.h"
#include "http/listener.h"
#include "http/message.h"
#include "router/deadline.h"
#include "router/exchange.h"
#include "router/owners.h"
#include "router/request_body.h"
#include "router/router_metrics.h"
#include "router/router_options.h"
#include "router/router_pages.h"
#include "router/task.h"
#include "router/upstream_pool.h"
#include "stout/core/random.h"

namespace stout::docstore {

/// State that the sessions of a router share.
struct RouterParts {
  boost::asio::io_context& context;
  const RouterOptions& options;
  Owners& owners;
  UpstreamPool& pool;
  http::HttpMetrics& http;
  RouterMetrics& metrics;
  const RouterPages& pages;
  http::BodyBudget& bodies;
};

/// One client's connection to the router. It serves the requests one after another. It forwards a
/// request to the owner of its document, and repeats this until there is an answer for the client.
///
/// Memory: header, kept body and one part of a body in each direction. Kept bodies share a budget.
/// Owner: itself, through its pending operations.   Threads: its strand; Session's members: any.
class RoutingSession final : public http::Session,
                             public std::enable_shared_from_this<RoutingSession> {
 public:
  using OnEnd = UniqueFunction<void()>;

  RoutingSession(http::SessionSocket socket, const RouterParts& parts, OnEnd on_end);

  void Start() override;
  void Refuse() override;
  void Drain() override;
  void Abort() override;

 private:
  using Parser = RequestBody::Parser;
  using Clock = std::chrono::steady_clock;

  void Spawn(Task<void> (RoutingSession::*run)());
  Task<void> Run();
  Task<void> RunRefusal();
  Task<bool> ReadHead();
  Task<void> Serve();
  Task<void> Forward(std::string document);
  Task<bool> AwaitRoom(std::size_t bytes);
  Task<bool> AwaitBody(RequestBody& body);
  Task<std::optional<Lease>> AwaitOwner(Clock::time_point until);
  Task<Fate> Attempt(Lease lease, const boost::beast::http::request_header<>& head,
                     RequestBody& body);
  Task<void> PassOn();
  Task<void> Reply(http::Response response);
  Task<void> ReplyToBadRequest(ErrorCode ec, bool too_slow = false);
  [[nodiscard]] Clock::duration Patience() const;
  Task<void> Wait(Clock::duration time);
  Task<void> Linger();

  void OnLeasesChanged();
  void End();

  http::SessionSocket socket_;
  const RouterParts parts_;
  OnEnd on_end_;
  std::string client_;  // its address

  // The buffer has a limit because the parser sets none for a chunk's line or a trailer. It
  // consumes each of them only when it is complete.
  boost::beast::flat_buffer input_;
  std::optional<Parser> parser_;
  Deadline deadline_;  // for the client
  Clock::time_point received_;
  http::Method method_ = http::Method::kOther;

  std::optional<http::BodyBudget::Share> share_;  // for the request's kept body
  std::string document_;                          // named by the request under way
  std::optional<Lease> seen_;                     // of its document, when it was last looked up
  std::optional<Exchange> exchange_;              // the attempt under way
  Owners::Subscription subscription_;
  boost::asio::basic_waitable_timer<Clock, boost::asio::wait_traits<Clock>, http::SessionStrand>
      pause_;
  SplitMix64 random_;

  bool awaits_client_ = false;  // a read is pending that no server waits for
  bool draining_ = false;       // no further request
  bool last_ = false;           // the present answer is the last
  bool broken_ = false;         // the client can get no answer any more
  bool ended_ = false;
};

}  // namespace stout::docstore
