#include "load/connection.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <utility>

namespace stout::load {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::size_t kReadBytes = 64 * 1024;

// Guesses: quick enough to find a restarted server at once, slow enough to leave a dead one alone.
constexpr std::chrono::milliseconds kFirstBackOff{5};
constexpr std::chrono::milliseconds kMaxBackOff{320};
constexpr int kMaxDoublings = 6;

}  // namespace

Connection::Connection(asio::io_context& io, asio::ip::tcp::endpoint server, std::size_t pipeline,
                       std::uint64_t number, Owner& owner)
    : io_(io),
      server_(std::move(server)),
      pipeline_(pipeline),
      owner_(owner),
      socket_(io),
      retry_timer_(io),
      random_(number) {}

void Connection::Start() {
  socket_ = asio::ip::tcp::socket(io_);
  socket_.async_connect(server_, [this, life = life_](error_code error) {
    if (life != life_) return;
    if (error) return ConnectLater();
    OnConnected();
  });
}

void Connection::OnConnected() {
  error_code ignored;  // An option that cannot be set costs latency, not correctness.
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  connected_ = true;
  Read();
  owner_.OnRoom();
}

void Connection::Send(const Call& call, std::string_view request) {
  in_flight_.push_back(call);
  unsent_ += request;
  FlushSoon();
}

void Connection::FlushSoon() {
  if (flush_pending_) return;
  flush_pending_ = true;
  asio::post(io_, [this, life = life_] {
    if (life == life_) Flush();
  });
}

void Connection::Flush() {
  sending_.clear();
  std::swap(sending_, unsent_);
  asio::async_write(socket_, asio::buffer(sending_),
                    [this, life = life_](error_code error, std::size_t) {
                      if (life != life_) return;
                      if (error) return Drop(TimePoint::min());
                      flush_pending_ = false;
                      if (!unsent_.empty()) FlushSoon();
                    });
}

void Connection::Read() {
  socket_.async_read_some(reader_.buffer().prepare(kReadBytes),
                          [this, life = life_](error_code error, std::size_t bytes) {
                            if (life != life_) return;
                            if (error) return Drop(TimePoint::min());
                            OnRead(bytes);
                          });
}

void Connection::OnRead(std::size_t bytes) {
  const bool was_full = !HasRoom();
  reader_.buffer().commit(bytes);
  error_code error;
  while (const std::optional<Answer> answer = reader_.Next(error)) {
    if (in_flight_.empty()) return Drop(TimePoint::min());  // an answer to nothing
    failed_attempts_ = 0;
    const Call call = in_flight_.front();
    in_flight_.pop_front();
    owner_.OnAnswer(call, *answer);
    if (!answer->keep_alive) return Drop(TimePoint::min());
  }
  if (error) return Drop(TimePoint::min());
  Read();
  if (was_full && HasRoom()) owner_.OnRoom();
}

void Connection::DropIfSentBefore(TimePoint deadline) {
  if (!in_flight_.empty() && in_flight_.front().sent < deadline) Drop(deadline);
}

void Connection::Drop(TimePoint timed_out_before) {
  ++life_;
  connected_ = false;
  flush_pending_ = false;
  unsent_.clear();
  reader_.Reset();
  error_code ignored;
  socket_.close(ignored);
  const std::deque<Call> lost = std::exchange(in_flight_, {});
  ConnectLater();
  for (const Call& call : lost) {
    owner_.OnLost(call, call.sent < timed_out_before ? Failure::kTimeout : Failure::kConnection);
  }
}

void Connection::ConnectLater() {
  const auto back_off =
      std::min(kMaxBackOff, kFirstBackOff * (1 << std::min(failed_attempts_, kMaxDoublings)));
  ++failed_attempts_;
  const double jitter = 0.5 + random_.Unit() / 2;
  retry_timer_.expires_after(
      std::chrono::duration_cast<std::chrono::nanoseconds>(back_off * jitter));
  retry_timer_.async_wait([this, life = life_](error_code error) {
    if (!error && life == life_) Start();
  });
}

}  // namespace stout::load
