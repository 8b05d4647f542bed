#pragma once

#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <memory>
#include <optional>

#include "router/deadline.h"
#include "router/request_body.h"
#include "router/retry.h"
#include "router/router_options.h"
#include "router/task.h"
#include "router/upstream_pool.h"
#include "stout/adapters/name_lookup.h"
#include "stout/core/lease_table.h"

namespace stout::docstore {

/// One attempt to have a request served by the owner of its document, and the way of the answer to
/// the client.
///
/// Owner: of one request; refers to what it is given.   Threads: the session's strand.
class Exchange {
 public:
  using RequestHead = boost::beast::http::request_header<>;
  using Answer = boost::beast::http::response<boost::beast::http::buffer_body>;

  Exchange(boost::asio::io_context& context, const http::SessionStrand& strand, UpstreamPool& pool,
           const RouterOptions& options, Lease lease);

  /// Sends the request, and waits for the head of the answer. On kAnswered, answer() has it. Errors
  /// of the client meanwhile are in body.error().
  Task<Fate> Ask(const RequestHead& head, RequestBody& body);

  /// Requires kAnswered.
  [[nodiscard]] Answer& answer() { return parser_->get(); }

  /// Passes the answer on, the body as it comes. False if that ended early: the client's connection
  /// then has half an answer. `client_version` as in HTTP/1.0: 10. `last`: it ends after this
  /// answer. `deadline` bounds how long the client may take for a part.
  Task<bool> Relay(http::SessionSocket& client, Deadline& deadline, unsigned client_version,
                   bool last);

  /// Call it when the range is another's. A request that was sent must be answered soon. One that
  /// was not is not sent to this server any more.
  void Hurry();
  void Cut();

  [[nodiscard]] const Lease& lease() const { return lease_; }

 private:
  using Outgoing = boost::beast::http::request<boost::beast::http::buffer_body>;
  using Parser = boost::beast::http::response_parser<boost::beast::http::buffer_body>;

  Task<bool> Connect();
  Task<void> Send(const RequestHead& head, RequestBody& body);
  Task<void> Receive(RequestBody& body);
  void FrameAnswer(unsigned client_version, bool last);
  /// Reads the rest of an answer that the client does not get.
  Task<void> Discard();
  void GiveBack();

  boost::asio::io_context& context_;
  UpstreamPool& pool_;
  const RouterOptions& options_;
  const Lease lease_;
  NameLookup<http::SessionStrand> lookup_;
  std::unique_ptr<Upstream> upstream_;
  Deadline deadline_;
  std::optional<Parser> parser_;
  bool is_head_ = false;
  bool sending_ = false;    // the request is not yet sent in full
  bool receiving_ = false;  // the head of the answer is awaited
  bool hurried_ = false;    // the range is another's
  bool sent_whole_ = false;
  bool answered_ = false;
};

}  // namespace stout::docstore
