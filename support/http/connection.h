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

/// One client's connection: reads requests, passes them to the handler, writes answers in order.
///
/// This is a state machine with four kinds of events: bytes arrived, an answer is ready, bytes were
/// written, time passed. Each event ends in Advance(). Invariants:
/// 1. answers_ holds one entry per request that was read and is not yet answered in full, in order.
/// 2. At most one read and one write of the socket are outstanding.
/// 3. Once input_over_ is set, no further request is parsed. The last answer has the field
///    "Connection: close". When it has been written, the connection ends.
/// 4. While a read is outstanding, input_ holds nothing that Parse could consume. The read's buffer
///    follows these bytes, and must not move.
/// 5. The client is timed only while it must send: while no answer is owed, or while a body has its
///    share. If the client waits for "100 Continue", its body is timed once that is written.
/// 6. A request has its share of the budget from the end of its header until its answer is ready.
///    Only then does its body take memory beyond one read of the socket. While a request waits for
///    its share, the socket is not read.
///
/// Owner: itself, through its pending operations.
/// Threads: its strand; Start, Refuse, Drain and Abort: any.
class Connection final : public Session, public std::enable_shared_from_this<Connection> {
 public:
  using OnEnd = UniqueFunction<void()>;

  Connection(SessionSocket socket, HttpHandler& handler, HttpMetrics& metrics,
             const HttpOptions& options, BodyBudget bodies, OnEnd on_end);

  /// Begins to read. Call it first.
  void Start() override;
  /// Answers 503 and ends. Call it instead of Start.
  void Refuse() override;
  /// Serves no further request: see HttpServer::Drain.
  void Drain() override;
  /// Closes the connection at once.
  void Abort() override;

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  using Instant = std::chrono::steady_clock::time_point;

  // An answer that is ready or awaited, or the interim response "100 Continue".
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
  // Checks the header, and takes a share for the body.
  void OnHeader();
  void OnShare(BodyBudget::Share share);
  // Reads the body from now on. Sends "100 Continue" if the client waits for it.
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
  // Returns true if the body has its share, and arrives more slowly than min_body_rate.
  [[nodiscard]] bool BodyIsTooSlow(Instant now) const;
  [[nodiscard]] bool InsideRequest() const { return parser_ && parser_->got_some(); }

  SessionSocket socket_;
  HttpHandler& handler_;
  HttpMetrics& metrics_;
  const HttpOptions options_;
  BodyBudget bodies_;
  OnEnd on_end_;  // empty after its call

  boost::beast::flat_buffer input_;
  std::optional<Parser> parser_;
  std::optional<Request> request_;          // set once the header of parser_ is complete
  std::optional<BodyBudget::Share> share_;  // for the request's body, if it has a body
  std::optional<BodyBudget::Place> place_;  // while the request waits for its share

  std::deque<Answer> answers_;
  std::uint64_t first_answer_ = 0;  // number of answers_.front()
  std::size_t writing_ = 0;         // answers in the write that is outstanding
  std::vector<boost::asio::const_buffer> output_;

  std::size_t being_served_ = 0;  // requests that the handler has not answered

  bool reading_ = false;
  bool draining_ = false;
  bool input_over_ = false;
  bool peer_done_ = false;  // the peer sends no more
  bool finishing_ = false;
  bool ended_ = false;

  boost::asio::basic_waitable_timer<
      std::chrono::steady_clock, boost::asio::wait_traits<std::chrono::steady_clock>, SessionStrand>
      timer_;
  Instant since_;          // start of the client's turn to send
  Instant invited_since_;  // when the body had its share, and the client could send it
  Instant writing_since_;  // start of the outstanding write
};

}  // namespace stout::http
