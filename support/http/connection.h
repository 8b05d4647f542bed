#pragma once

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "http/body_budget.h"
#include "http/http_server.h"
#include "http/listener.h"

namespace stout::http {

/// One client's connection: reads requests, has them handled, writes the answers in order.
///
/// A state machine over four kinds of events (bytes came, an answer is ready, bytes went, time
/// passed), each of which ends in Advance(). Invariants:
/// 1. answers_ holds one entry per request read and not yet answered in full, in order.
/// 2. At most one read and one write of the socket are outstanding.
/// 3. Once input_over_ is set no further request is parsed; the last answer tells the client so
///    ("Connection: close"), and when it has been written the connection ends.
/// 4. While a read is outstanding, input_ holds nothing that Parse could consume: the read's buffer
///    lies behind it and must not move.
/// 5. The client is timed only while it is the client's turn: while no answer is owed, or while a
///    body has its share.
/// 6. The bytes of a body are in memory, beyond one read of the socket, only while the request has
///    its share of the budget: from the header until the answer is ready. While the request waits
///    for its share, the socket is not read.
///
/// Owner: itself, through its pending operations.   Threads: its strand, but for Drain and Abort.
class Connection final : public Session, public std::enable_shared_from_this<Connection> {
 public:
  using OnEnd = UniqueFunction<void()>;

  Connection(SessionSocket socket, HttpHandler& handler, HttpMetrics& metrics,
             const HttpOptions& options, BodyBudget bodies, OnEnd on_end);

  /// Begins to read. On any thread; the first call.
  void Start() override;
  /// Says 503 to the client and ends. Instead of Start.
  void Refuse() override;
  /// No further request will be served: see HttpServer::Drain. On any thread.
  void Drain() override;
  /// Cuts the connection. On any thread.
  void Abort() override;

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  using Instant = std::chrono::steady_clock::time_point;

  // An answer, ready or awaited; or the interim response that invites a body.
  struct Answer {
    Method method = Method::kOther;
    Instant received{};
    bool ready = false;
    bool interim = false;
    Response response;
    std::string head;
  };

  void Advance();
  void Parse();
  // Checks the header, and takes room for the body.
  void OnHeader();
  void OnShare(BodyBudget::Share share);
  // Reads the body from now on, and tells the client so if it waits for that.
  void InviteBody();
  void Dispatch();
  void Reject(boost::system::error_code ec);
  void DropRequest();
  void AnswerAndEnd(Response response);

  std::uint64_t Await(Method method);
  void OnAnswer(std::uint64_t number, Response response);

  void Read();
  void OnRead(boost::system::error_code ec, std::size_t bytes);
  void Write();
  void OnWritten(boost::system::error_code ec);

  void Tick();
  void OnTick();
  void Finish();
  void Discard();
  void End();
  void ReportEnd();

  [[nodiscard]] std::size_t MostBodyBytes() const {
    return std::min(options_.max_body_bytes, bodies_.limit());
  }
  // Whether the body may come, and comes more slowly than it must.
  [[nodiscard]] bool BodyIsTooSlow(Instant now) const;
  [[nodiscard]] bool InsideRequest() const { return parser_ && parser_->got_some(); }

  SessionSocket socket_;
  HttpHandler& handler_;
  HttpMetrics& metrics_;
  const HttpOptions options_;
  BodyBudget bodies_;
  OnEnd on_end_;  // empty: called

  boost::beast::flat_buffer input_;
  std::optional<Parser> parser_;
  std::optional<Request> request_;          // Set once the header of parser_ is complete.
  std::optional<BodyBudget::Share> share_;  // of the request's body, if it has one
  std::optional<BodyBudget::Place> place_;  // while it waits for its share

  std::deque<Answer> answers_;
  std::uint64_t first_answer_ = 0;  // number of answers_.front()
  std::size_t writing_ = 0;         // answers in the write that is outstanding
  std::vector<boost::asio::const_buffer> output_;

  std::size_t being_served_ = 0;  // requests that the handler has

  bool reading_ = false;
  bool draining_ = false;
  bool input_over_ = false;
  bool peer_done_ = false;  // the peer sends no more
  bool finishing_ = false;
  bool ended_ = false;

  boost::asio::basic_waitable_timer<
      std::chrono::steady_clock, boost::asio::wait_traits<std::chrono::steady_clock>, SessionStrand>
      timer_;
  Instant since_;          // since then it is the client's turn to send
  Instant invited_since_;  // since then the body has its share, and the client knows
  Instant writing_since_;  // since then the client has not taken the whole of the last write
};

}  // namespace stout::http
