#include "shard/load/load_run.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cmath>
#include <csignal>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>

#include "resp/client/connection.h"
#include "shard/load/pipeline.h"
#include "shard/load/timeline.h"
#include "stout/adapters/event.h"
#include "stout/adapters/no_throw.h"

namespace stout::bench::shard {
namespace {

namespace asio = boost::asio;
using std::chrono::steady_clock;

/// No timer is set for less: what is late by it counts as late.
constexpr std::chrono::microseconds kShortestPause{50};

constexpr std::chrono::seconds kStatusTimeout{5};
/// Distinguishes the times of requests from their choice.
constexpr std::uint64_t kTimesSeed = 0x5eed;

/// Returns true if a key of a get does not exist.
bool LacksKey(const resp::Reply& reply) {
  return reply.kind == resp::Reply::Kind::kNil ||
         std::any_of(reply.elements.begin(), reply.elements.end(), LacksKey);
}

class LoadRun final : public PipelineListener {
 public:
  LoadRun(const LoadSettings& settings, const Oracle& oracle, std::ostream& csv)
      : settings_(settings),
        oracle_(oracle),
        csv_(csv),
        schedule_(settings.phases),
        length_(settings.phases.empty() ? settings.closed : schedule_.length()),
        random_(settings.requests.seed ^ kTimesSeed),
        signals_(context_, SIGINT, SIGTERM),
        pause_(context_),
        tick_(context_),
        answered_(context_.get_executor()),
        status_(std::make_shared<const resp::Peer>(
                    resp::Peer{.name = "the server",
                               .address = {.host = settings.to.host, .port = settings.to.port},
                               .greeting = {},
                               .timeout = kStatusTimeout,
                               .connect_timeout = kStatusTimeout}),
                context_.get_executor()) {
    for (std::size_t i = 0; i < settings.connections; ++i) {
      pipelines_.push_back(std::make_unique<Pipeline>(context_.get_executor(), *this));
    }
  }

  LoadSummary Run() {
    Spawn(CatchInterrupts());
    Spawn(Work());
    context_.run();
    summary_.total.Merge(slice_);  // empty but after a failure
    return std::move(summary_);
  }

 private:
  void Spawn(asio::awaitable<void> coroutine) {
    asio::co_spawn(context_, std::move(coroutine), asio::detached);
  }

  asio::awaitable<void> Work();
  // Empty, or what is wrong.
  asio::awaitable<std::string> Begin();
  asio::awaitable<std::string> ConnectAll();
  asio::awaitable<void> Offer();
  asio::awaitable<void> OfferClosed();
  asio::awaitable<void> AwaitAnswers();
  asio::awaitable<void> WriteSlices();
  asio::awaitable<void> CatchInterrupts();
  asio::awaitable<std::vector<ShardFigures>> AskShards();

  void Issue(SteadyTime due, Pipeline& pipeline);
  [[nodiscard]] Pipeline& NextPipeline();
  void DrawNextDue();
  void OnReply(Pipeline& pipeline, const Request& request, const resp::Reply& reply) override;
  void OnLost(const std::string& why) override;
  void WriteSlice(std::span<const ShardFigures> shards);
  // Ends the waits, for any condition.
  void Wake();
  void End();

  [[nodiscard]] bool ended() const { return summary_.interrupted || !summary_.lost.empty(); }

  const LoadSettings& settings_;
  const Oracle& oracle_;
  std::ostream& csv_;
  const Schedule schedule_;
  const Duration length_;
  SplitMix64 random_;  // of the times

  asio::io_context context_;  // before all that uses it
  asio::signal_set signals_;
  asio::steady_timer pause_;
  asio::steady_timer tick_;
  Event answered_;  // All that was under way.
  resp::Connection status_;
  std::vector<std::unique_ptr<Pipeline>> pipelines_;

  std::optional<Requests> requests_;
  std::size_t shards_ = 0;
  std::size_t next_pipeline_ = 0;
  SteadyTime start_;
  double count_ = 0;  // of the schedule, where the next request stands
  std::optional<SteadyTime> next_due_;

  std::uint64_t under_way_ = 0;
  bool closed_loop_ = false;  // what is answered is followed by another
  bool over_ = false;         // what is under way now will never be answered
  Duration slice_begin_{};
  Tally slice_;
  LoadSummary summary_;
};

asio::awaitable<void> LoadRun::Work() {
  summary_.lost = co_await Begin();
  if (!ended()) {
    csv_ << TimelineHeader(shards_);
    start_ = steady_clock::now();
    Spawn(WriteSlices());
    if (settings_.phases.empty()) {
      co_await OfferClosed();
    } else {
      co_await Offer();
    }
    const Duration took = steady_clock::now() - start_;
    summary_.seconds = std::chrono::duration<double>(took).count();
    summary_.answered_per_s =
        static_cast<double>(summary_.total.answered + slice_.answered) / summary_.seconds;
    co_await AwaitAnswers();
    over_ = true;  // At the end of the slice, which would tell little if it were cut short.
  } else {
    End();
  }
}

asio::awaitable<std::string> LoadRun::Begin() {
  std::string wrong = co_await ConnectAll();
  if (!wrong.empty()) {
    co_return fmt::format("cannot reach {}: {}", settings_.to.Text(), wrong);
  }
  shards_ = (co_await AskShards()).size();
  if (settings_.requests.skew && shards_ == 0) {
    co_return std::string("--shard-skew: the server tells of no shards; is it a blowfish-server?");
  }
  if (settings_.placement && settings_.placement->shards != shards_) {
    co_return fmt::format("--placed-by: the server has {} shards", shards_);
  }
  resp::Commands probe;
  probe.Add({"GET", ServedKey(oracle_.key(oracle_.size() - 1))});
  const resp::Outcome outcome = co_await status_.Run(probe);
  if (outcome.errc != Errc::kOk) co_return outcome.message;
  const resp::Reply& reply = outcome.replies.front();
  if (reply.error()) co_return reply.text;
  if (reply.text != oracle_.last_value()) {
    co_return std::string(
        "the server does not have these records: fill it by shard-data --format keyed --out - | "
        "blowfish-load --drop-key -, and give --size, --data-seed and --placed-by as they were "
        "given there");
  }
  requests_.emplace(oracle_, settings_.requests, shards_);
  co_return std::string();
}

asio::awaitable<std::string> LoadRun::ConnectAll() {
  std::string wrong = co_await status_.Connect();
  for (const auto& pipeline : pipelines_) {
    if (!wrong.empty()) break;
    wrong = co_await pipeline->Connect(settings_.to);
    if (!wrong.empty()) break;
    Spawn(pipeline->Write());
    Spawn(pipeline->Read());
  }
  co_return wrong;
}

asio::awaitable<void> LoadRun::Offer() {
  const SteadyTime end = start_ + length_;
  for (DrawNextDue(); !ended();) {
    const SteadyTime now = steady_clock::now();
    for (; next_due_ && *next_due_ <= now; DrawNextDue()) Issue(*next_due_, NextPipeline());
    if (now >= end) co_return;
    pause_.expires_at(std::min(end, std::max(next_due_.value_or(end), now + kShortestPause)));
    co_await pause_.async_wait(kNoThrow);
  }
}

asio::awaitable<void> LoadRun::OfferClosed() {
  closed_loop_ = true;
  for (std::size_t i = 0; i < settings_.depth * pipelines_.size(); ++i)
    Issue(steady_clock::now(), NextPipeline());
  pause_.expires_at(start_ + length_);
  if (!ended()) co_await pause_.async_wait(kNoThrow);
  closed_loop_ = false;
}

void LoadRun::DrawNextDue() {
  count_ -= std::log1p(-random_.Unit());
  const std::optional<Duration> due = schedule_.TimeOf(count_);
  next_due_ = due ? std::optional(start_ + *due) : std::nullopt;
}

Pipeline& LoadRun::NextPipeline() { return *pipelines_[next_pipeline_++ % pipelines_.size()]; }

void LoadRun::Issue(SteadyTime due, Pipeline& pipeline) {
  ++slice_.offered;
  if (under_way_ >= settings_.most_under_way) {
    ++slice_.unsent;
    return;
  }
  ++under_way_;
  summary_.lateness.Record(Duration(steady_clock::now() - due));
  const Requests::Kind kind = requests_->Add(due - start_, pipeline.commands());
  pipeline.Added({.due = due, .kind = kind});
}

void LoadRun::OnReply(Pipeline& pipeline, const Request& request, const resp::Reply& reply) {
  const SteadyTime now = steady_clock::now();
  --under_way_;
  const bool missing = request.kind == Requests::Kind::kGet && LacksKey(reply);
  if (reply.error() || missing) {
    ++slice_.failed;
    summary_.last_error = missing ? "a key is not there" : reply.text;
  } else {
    ++slice_.answered;
    slice_.latency.Record(Duration(now - request.due));
  }
  if (closed_loop_) Issue(now, pipeline);  // Each connection has as many under way as before.
  if (under_way_ == 0) answered_.Notify();
}

asio::awaitable<void> LoadRun::AwaitAnswers() {
  const SteadyTime give_up = steady_clock::now() + settings_.patience;
  pause_.expires_at(give_up);
  pause_.async_wait([this](boost::system::error_code) { answered_.Notify(); });
  while (under_way_ > 0 && !ended() && steady_clock::now() < give_up) co_await answered_.Wait();
  pause_.cancel();
}

asio::awaitable<void> LoadRun::WriteSlices() {
  for (SteadyTime next = start_ + settings_.slice; !over_;) {
    tick_.expires_at(next);
    co_await tick_.async_wait(kNoThrow);
    const std::vector<ShardFigures> shards = co_await AskShards();
    WriteSlice(shards);
    // Slices for which the server's answer took too long are merged with the next one.
    while (next <= steady_clock::now()) next += settings_.slice;
  }
  End();
}

asio::awaitable<std::vector<ShardFigures>> LoadRun::AskShards() {
  resp::Commands ask;
  ask.Add({"INFO", "shards"});
  if (!status_.Usable() && !(co_await status_.Connect()).empty()) {
    co_return std::vector<ShardFigures>();
  }
  const resp::Outcome outcome = co_await status_.Run(ask);
  if (outcome.errc != Errc::kOk) co_return std::vector<ShardFigures>();
  co_return ParseShardFigures(outcome.replies.front().text);
}

void LoadRun::WriteSlice(std::span<const ShardFigures> shards) {
  const Duration now = steady_clock::now() - start_;
  const TimelineRow row{.begin = slice_begin_,
                        .end = now,
                        .tally = slice_,
                        .under_way = under_way_,
                        .shards = shards};
  csv_ << FormatRow(row, shards_) << std::flush;
  summary_.total.Merge(std::exchange(slice_, {}));
  slice_begin_ = now;
}

asio::awaitable<void> LoadRun::CatchInterrupts() {
  const auto [ended, signal] = co_await signals_.async_wait(kNoThrow);
  if (ended) co_return;
  summary_.interrupted = true;
  boost::system::error_code ignored;
  signals_.clear(ignored);  // The next one ends the program.
  Wake();
}

void LoadRun::OnLost(const std::string& why) {
  if (!over_ && summary_.lost.empty()) summary_.lost = "a connection was lost: " + why;
  Wake();
}

void LoadRun::Wake() {
  pause_.cancel();
  tick_.cancel();
  answered_.Notify();
}

void LoadRun::End() {
  over_ = true;
  boost::system::error_code ignored;
  signals_.cancel(ignored);
  status_.Close();
  for (const auto& pipeline : pipelines_) pipeline->Close();
}

}  // namespace

LoadSummary RunLoad(const LoadSettings& settings, const Oracle& oracle, std::ostream& csv) {
  return LoadRun(settings, oracle, csv).Run();
}

}  // namespace stout::bench::shard
