#include "blowfish/load/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <exception>
#include <utility>

#include "blowfish/index/bytes_hash.h"
#include "resp/client/connection.h"
#include "stout/adapters/no_throw.h"
#include "stout/core/backoff.h"
#include "stout/core/random.h"

namespace stout::blowfish {
namespace {

namespace asio = boost::asio;
using std::chrono::steady_clock;

constexpr Backoff kBackoff{std::chrono::milliseconds(50), std::chrono::seconds(2)};
// If nothing answers, a round may take this part of the patience; new connections get the other
// parts.
constexpr int kRounds = 3;
// A round may take this long while the server answers PING. A server that was started anew may
// answer it, and know nothing of the round.
constexpr Duration kLongestRound = std::chrono::minutes(10);

Duration TimeLimitOf(const LoaderOptions& options) { return options.patience / kRounds; }
Duration LongestRound(const LoaderOptions& options) {
  return std::max(options.patience, kLongestRound);
}

std::string InSeconds(Duration duration) {
  return fmt::format("{:g} s", std::chrono::duration<double>(duration).count());
}

std::shared_ptr<const resp::Peer> MakePeer(const LoaderOptions& options, Duration timeout) {
  resp::Commands greeting;
  resp::AppendAuth({}, options.password, &greeting);
  return std::make_shared<resp::Peer>(
      resp::Peer{.name = options.server.Text(),
                 .address = {.host = options.server.host, .port = options.server.port},
                 .greeting = std::move(greeting),
                 .timeout = timeout,
                 .connect_timeout = TimeLimitOf(options),
                 .reports = false});
}

// `since`: the start of what was lost.
std::string WhyLost(const resp::Outcome& outcome, const LoaderOptions& options,
                    steady_clock::time_point since) {
  if (!outcome.late) return outcome.message;
  const bool whole_round = steady_clock::now() - since >= LongestRound(options);
  return "no answer for " + InSeconds(whole_round ? LongestRound(options) : TimeLimitOf(options));
}

}  // namespace

struct Loader::Lane {
  Lane(const asio::any_io_executor& executor, std::shared_ptr<const resp::Peer> peer,
       const RecordQueue::Options& options, std::uint64_t seed)
      : connection(std::move(peer), executor),
        queue(options),
        added(executor),
        pause(executor),
        random(seed) {}

  resp::Connection connection;
  RecordQueue queue;
  Event added;
  asio::steady_timer pause;
  SplitMix64 random;                                // jitter of the pauses
  std::optional<steady_clock::time_point> sent_at;  // the round under way
  std::uint32_t failures = 0;                       // in a row
  steady_clock::time_point progressed_at{};         // or the queue was empty then
};

Loader::Loader(const asio::any_io_executor& executor, LoaderOptions options, Handlers handlers)
    : executor_(executor),
      options_(std::move(options)),
      handlers_(std::move(handlers)),
      probe_(MakePeer(options_, TimeLimitOf(options_) / 2), executor),
      watch_(executor),
      finished_(executor) {
  const auto peer = MakePeer(options_, LongestRound(options_));
  while (lanes_.size() < options_.connections) {
    lanes_.push_back(std::make_unique<Lane>(executor, peer, options_.window, lanes_.size()));
  }
}

Loader::~Loader() = default;

void Loader::Start() {
  const auto ended = [this](const std::exception_ptr& error) {
    try {
      if (error) std::rethrow_exception(error);
    } catch (const std::exception& why) {
      GiveUp(why.what());
    }
  };
  for (const auto& lane : lanes_) asio::co_spawn(executor_, Run(*lane), ended);
  asio::co_spawn(executor_, Watch(), ended);
}

bool Loader::TryAdd(std::string_view key, std::string_view value, std::uint64_t line) {
  Lane& lane = *lanes_[Xxh3(key) % lanes_.size()];
  if (lane.queue.full()) return false;
  lane.queue.Add(key, value, line);
  lane.added.Notify();
  return true;
}

asio::awaitable<bool> Loader::Add(std::string_view key, std::string_view value,
                                  std::uint64_t line) {
  while (!closed_) {
    if (TryAdd(key, value, line)) co_return true;
    co_await finished_.Wait();
  }
  co_return false;
}

asio::awaitable<bool> Loader::Finish() {
  while (!closed_ && first_unfinished()) co_await finished_.Wait();
  co_return !closed_;
}

void Loader::Close() {
  closed_ = true;
  finished_.Notify();
  watch_.cancel();
  probe_.Close();
  for (const auto& lane : lanes_) {
    lane->connection.Close();
    lane->added.Notify();
    lane->pause.cancel();
  }
}

std::optional<std::uint64_t> Loader::first_unfinished() const {
  std::optional<std::uint64_t> first;
  for (const auto& lane : lanes_) {
    const std::optional<std::uint64_t> line = lane->queue.first_line();
    if (line && (!first || *line < *first)) first = line;
  }
  return first;
}

std::uint64_t Loader::resent() const {
  std::uint64_t resent = 0;
  for (const auto& lane : lanes_) resent += lane->queue.resent();
  return resent;
}

asio::awaitable<void> Loader::Run(Lane& lane) {
  while (!closed_) {
    if (lane.queue.empty()) {
      co_await lane.added.Wait();
      lane.progressed_at = steady_clock::now();
      continue;
    }
    const std::string trouble = co_await SendRound(lane);
    if (trouble.empty() || closed_) continue;
    Tell(handlers_.trouble, trouble);
    const auto deadline = lane.progressed_at + options_.patience;
    const auto now = steady_clock::now();
    if (now >= deadline) {
      GiveUp(fmt::format("no progress for {}: {}; check the server, or raise --patience",
                         InSeconds(options_.patience), trouble));
      co_return;
    }
    lane.pause.expires_at(std::min(now + kBackoff.Pause(++lane.failures, lane.random), deadline));
    co_await lane.pause.async_wait(kNoThrow);
  }
}

asio::awaitable<std::string> Loader::SendRound(Lane& lane) {
  auto start = steady_clock::now();
  if (!lane.connection.Usable()) {
    const resp::Outcome opened = co_await lane.connection.Open();
    if (opened.malformed) {
      GiveUp(RecordQueue::kOtherServer);
    } else if (opened.errc == Errc::kBadUrl) {
      GiveUp(fmt::format("the server refuses the password: {}; check that it is this server's",
                         opened.message));
    }
    if (opened.errc != Errc::kOk) co_return WhyLost(opened, options_, start);
  }
  const resp::Commands round = lane.queue.NextRound();
  start = steady_clock::now();
  lane.sent_at = start;
  const resp::Outcome ran = co_await lane.connection.Run(round);
  lane.sent_at.reset();
  RecordQueue::Outcome outcome = lane.queue.Finish(ran.replies);
  if (ran.malformed) outcome.fatal = RecordQueue::kOtherServer;
  OnOutcome(lane, outcome);
  co_return outcome.busy.empty() ? WhyLost(ran, options_, start) : outcome.busy;
}

asio::awaitable<void> Loader::Watch() {
  const Duration limit = TimeLimitOf(options_) / 2;  // PING gets the other half
  const auto is_late = [limit](const std::unique_ptr<Lane>& lane) {
    return lane->sent_at && steady_clock::now() - *lane->sent_at >= limit;
  };
  while (!closed_) {
    watch_.expires_after(limit);
    co_await watch_.async_wait(kNoThrow);
    if (closed_ || std::none_of(lanes_.begin(), lanes_.end(), is_late)) continue;
    const bool answers = co_await AnswersPing();
    if (closed_) continue;
    if (answers) Tell(handlers_.waits, "writes wait, perhaps for a merge; PING is answered");
    for (const auto& lane : lanes_) {
      if (!is_late(lane)) continue;
      if (answers) {
        lane->progressed_at = steady_clock::now();
      } else {
        lane->connection.Expire();
      }
    }
  }
}

asio::awaitable<bool> Loader::AnswersPing() {
  if (!probe_.Usable()) {
    const resp::Outcome opened = co_await probe_.Open();
    if (opened.errc != Errc::kOk) co_return false;
  }
  resp::Commands ping;
  ping.Add({"PING"});
  const resp::Outcome outcome = co_await probe_.Run(ping);
  co_return outcome.errc == Errc::kOk;
}

void Loader::OnOutcome(Lane& lane, const RecordQueue::Outcome& outcome) {
  totals_.records += outcome.records;
  totals_.bytes += outcome.bytes;
  totals_.refused += outcome.refused.size();
  for (const auto& [line, error] : outcome.refused) {
    if (handlers_.refused) handlers_.refused(line, error);
  }
  if (outcome.records + outcome.refused.size() > 0) {
    lane.progressed_at = steady_clock::now();
    lane.failures = 0;
    trouble_.clear();
    finished_.Notify();
  }
  if (!outcome.fatal.empty()) GiveUp(outcome.fatal);
}

void Loader::Tell(const std::function<void(std::string_view)>& handler,
                  const std::string& trouble) {
  if (trouble == trouble_) return;  // another connection's, too
  trouble_ = trouble;
  if (handler) handler(fmt::format("{}: {}", options_.server.Text(), trouble));
}

void Loader::GiveUp(std::string_view why) {
  if (closed_) return;
  gave_up_ = fmt::format("{}: {}", options_.server.Text(), why);
  Close();
  if (handlers_.gave_up) handlers_.gave_up();
}

}  // namespace stout::blowfish
