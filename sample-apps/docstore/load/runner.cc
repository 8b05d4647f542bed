#include "load/runner.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include "load/find_server.h"
#include "program/tell.h"
#include "protocol/may_pass.h"

namespace stout::load {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

/// How often time-outs are looked for, and failed calls of preload and read-back tried again.
constexpr std::chrono::milliseconds kTick{20};
/// How long an interrupted run still waits for answers.
constexpr std::chrono::seconds kInterruptPatience{1};
/// How long after its end a run still waits for the last sample of the counters.
constexpr std::chrono::seconds kCountersPatience{1};

// The workload has a seed of its own: what is asked for does not depend on when.
constexpr std::uint64_t kWorkloadStream = 0x776f726b6c6f6164;

/// Each second and each step begins with a sample, and the last one ends with one.
std::deque<TimePoint> SampleTimes(const LoadOptions& options) {
  std::deque<TimePoint> times{TimePoint(options.duration)};
  for (const Step& step : options.steps) times.emplace_back(step.start);
  for (std::chrono::seconds s{0}; s < options.duration; ++s) times.emplace_back(s);
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

}  // namespace

Runner::Runner(const LoadOptions& options, std::optional<Verifier> verifier)
    : options_(options),
      verifier_(std::move(verifier)),
      run_(verifier_ ? verifier_->run() : RandomRunId()),
      signals_(io_, SIGINT, SIGTERM),
      schedule_timer_(io_),
      sample_timer_(io_),
      tick_timer_(io_),
      writer_(options.corpus, options.target.Text(), options.tenant, options.value_bytes),
      workload_(options.corpus, options.distribution, options.read_fraction,
                options.seed ^ kWorkloadStream),
      schedule_(options.steps, options.warmup, options.duration, options.arrivals, options.seed),
      recorder_(options.steps, options.duration),
      origin_(Steady::now()) {}

RunReport Runner::Run() {
  Connect();
  if (options_.preload) Preload();
  Drive();
  Drain();
  if (verifier_) ReadBack();
  return Report();
}

RunReport Runner::VerifyOnly() {
  Connect();
  ReadBack();
  return Report();
}

void Runner::Connect() {
  const tcp::endpoint server = FindServer(io_, options_.target);
  Connection::Owner& self = *this;
  for (std::size_t i = 0; i < options_.connections; ++i) {
    connections_.push_back(std::make_unique<Connection>(io_, server, options_.pipeline, i, self));
    connections_.back()->Start();
  }
  if (options_.server_stats) {
    counters_connection_ = std::make_unique<Connection>(io_, server, 1, options_.connections, self);
    counters_connection_->Start();
  }
  signals_.async_wait([this](error_code error, int) {
    if (!error) Interrupt();
  });
  Tick();
}

void Runner::Preload() {
  for (SectionId id = 0; id < options_.corpus.size(); ++id) {
    queue_.push_back({.purpose = Call::Purpose::kPreload, .op = Op::kWrite, .section = id});
  }
  others_left_ = queue_.size();
  std::uint64_t left = 0;
  TimePoint deadline;  // of the next success: a request can fail, and be repeated once
  Pump();
  RunUntil([&] {
    if (std::exchange(left, others_left_) != others_left_) {
      deadline = SaturatingAdd(SaturatingAdd(Now(), options_.timeout), options_.timeout);
    }
    return interrupted_ || others_left_ == 0 || preload_refused_ || Now() > deadline;
  });
  if (interrupted_ || others_left_ == 0) return;
  ClearProgress();
  throw std::runtime_error(fmt::format(
      "the preload ended with {} sections to go: {}; raise --timeout if the server is slow",
      others_left_, preload_failure_));
}

void Runner::Drive() {
  if (interrupted_) {
    interrupted_at_ = TimePoint{};  // nothing was measured
    return;
  }
  origin_ = Steady::now() + options_.warmup;
  if (counters_connection_) sample_times_ = SampleTimes(options_);
  measuring_ = true;
  ArmSampling();
  ArmSchedule();
  RunUntil([this] {
    return interrupted_ || (schedule_.due() == kNever && Now() >= TimePoint(options_.duration));
  });
}

void Runner::Drain() {
  RunUntil([this] {
    if (interrupted_) return measured_left_ == 0 || Now() > interrupted_at_ + kInterruptPatience;
    return measured_left_ == 0 && CountersSettled();
  });
  measuring_ = false;
  if (!interrupted_) return;
  for (const auto& connection : connections_) connection->DropIfSentBefore(kNever);
}

void Runner::ReadBack() {
  const std::vector<SectionId> sections = verifier_->SectionsToReadBack();
  others_left_ = sections.size();
  if (!interrupted_) {
    for (const SectionId id : sections) {
      queue_.push_back({.purpose = Call::Purpose::kReadBack, .section = id});
    }
  }
  const TimePoint deadline = SaturatingAdd(Now(), options_.verify_timeout);
  Pump();
  RunUntil([&] { return interrupted_ || others_left_ == 0 || Now() > deadline; });
  verify_result_ = {.acknowledged = verifier_->acknowledged(),
                    .open = verifier_->open_writes(),
                    .read_back = sections.size() - others_left_,
                    .unread = others_left_,
                    .findings = verifier_->findings()};
}

RunReport Runner::Report() {
  ClearProgress();
  const TimePoint asked(options_.duration);
  const TimePoint end = interrupted_ ? std::clamp(interrupted_at_, TimePoint{}, asked) : asked;
  return {.options = options_,
          .end = end,
          .interrupted = interrupted_,
          .steps = recorder_.steps(),
          .total = recorder_.Total(),
          .seconds = recorder_.Seconds(end),
          .samples = samples_,
          .first_refusal = first_refusal_,
          .verify = verify_result_};
}

void Runner::RunUntil(const std::function<bool()>& done) {
  // The tick never ends, so the event loop always turns.
  while (!done()) io_.run_one();
}

void Runner::Interrupt() {
  // The next signal ends the process: the default action is back.
  signals_.clear();
  interrupted_ = true;
  interrupted_at_ = Now();
  schedule_timer_.cancel();
  for (const Call& call : std::exchange(queue_, {})) Fail(call, Failure::kAborted);
}

void Runner::ArmSchedule() {
  if (schedule_.due() == kNever) return;
  schedule_timer_.expires_at(origin_ + schedule_.due().time_since_epoch());
  schedule_timer_.async_wait([this](error_code error) {
    if (!error && !interrupted_) OfferDue();
  });
}

void Runner::OfferDue() {
  for (const TimePoint now = Now(); schedule_.due() <= now; schedule_.Advance()) {
    const Workload::Choice choice = workload_.Next();
    queue_.push_back({.op = choice.op, .section = choice.section, .due = schedule_.due()});
    recorder_.OnOffered(choice.op, schedule_.due());
    ++measured_left_;
  }
  Pump();
  ArmSchedule();
}

void Runner::Tick() {
  const TimePoint now = Now();
  for (const auto& connection : connections_) {
    connection->DropIfSentBefore(now - options_.timeout);
  }
  ExpireQueue(now);
  if (!interrupted_) {
    queue_.insert(queue_.end(), again_.begin(), again_.end());
    again_.clear();
  }
  Pump();
  if (counters_connection_) counters_connection_->DropIfSentBefore(now - options_.timeout);
  if (options_.progress || ::isatty(STDERR_FILENO) != 0) ShowProgress(now);

  tick_timer_.expires_after(kTick);
  tick_timer_.async_wait([this](error_code error) {
    if (!error) Tick();
  });
}

// On a timer of its own: a tick late at the start of a heavy step would count its first requests to
// the light one.
void Runner::ArmSampling() {
  if (sample_times_.empty()) return;
  sample_timer_.expires_at(origin_ + sample_times_.front().time_since_epoch());
  sample_timer_.async_wait([this](error_code error) {
    if (!error && measuring_) SampleCounters();
  });
}

void Runner::SampleCounters() {
  // While the last sample is not answered this one is left out; the next stands in for it.
  if (counters_connection_->HasRoom()) {
    counters_connection_->Send({.purpose = Call::Purpose::kCounters, .sent = Now()},
                               writer_.GetMetrics());
  }
  sample_times_.pop_front();
  ArmSampling();
}

bool Runner::CountersSettled() const {
  if (!counters_connection_ || Now() > TimePoint(options_.duration) + kCountersPatience)
    return true;
  return sample_times_.empty() && counters_connection_->in_flight() == 0;
}

void Runner::ShowProgress(TimePoint now) {
  if (!measuring_ && others_left_ > 0 && !options_.progress) {
    program::Tell(stderr, "\r\033[K{} sections to go", others_left_);
    progress_shown_ = true;
  }
  if (!measuring_ || now < TimePoint(next_progress_)) return;
  const Window* const second = recorder_.LastSecond(now);
  while (TimePoint(next_progress_) <= now) ++next_progress_;
  if (second == nullptr) return;
  if (options_.progress) return PrintProgress(*second);
  const auto p99 = [](const OpStats& op) { return Milliseconds(op.latency.Quantile(0.99) / 1e6); };
  program::Tell(
      stderr,
      "\r\033[K{:>4} s  due {}/s  answered {}/s  p99 read {} ms, write {} ms  waiting {}  "
      "errors {}",
      next_progress_.count() - 1, second->reads.offered + second->writes.offered,
      second->reads.answered + second->writes.answered, p99(second->reads), p99(second->writes),
      measured_left_, second->reads.Failed() + second->writes.Failed());
  progress_shown_ = true;
}

void Runner::ClearProgress() const {
  if (progress_shown_) program::Tell(stderr, "\r\033[K");
}

void Runner::PrintProgress(const Window& second) {
  std::optional<ServerCounters> server;
  if (samples_.size() > 1) {
    server = CountersBetween(samples_, (samples_.end() - 2)->at, samples_.back().at);
  }
  program::Tell(stderr, "{}\n",
                ProgressText(next_progress_.count() - 1, second, writes_since_progress_, server));
  writes_since_progress_ = {};
}

void Runner::Pump() {
  while (!queue_.empty()) {
    Connection* const connection = Roomiest();
    if (connection == nullptr) return;
    const Call call = queue_.front();
    queue_.pop_front();
    Transmit(*connection, call);
  }
}

Connection* Runner::Roomiest() {
  Connection* best = nullptr;
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    next_connection_ = next_connection_ + 1 < connections_.size() ? next_connection_ + 1 : 0;
    Connection* const candidate = connections_[next_connection_].get();
    if (!candidate->HasRoom()) continue;
    if (candidate->in_flight() == 0) return candidate;
    if (best == nullptr || candidate->in_flight() < best->in_flight()) best = candidate;
  }
  return best;
}

void Runner::Transmit(Connection& connection, Call call) {
  call.sent = Now();
  if (call.purpose == Call::Purpose::kMeasured) recorder_.OnSent(call.due, call.sent);
  if (verifier_) call.known = verifier_->Known(call.section);
  if (call.op == Op::kRead) return connection.Send(call, writer_.Get(call.section));
  call.sequence = verifier_ ? verifier_->BeginWrite(call.section) : ++last_sequence_;
  connection.Send(call, writer_.Put({run_, call.section, call.sequence}));
}

void Runner::ExpireQueue(TimePoint now) {
  while (!queue_.empty() && queue_.front().purpose == Call::Purpose::kMeasured &&
         queue_.front().due < now - options_.timeout) {
    Fail(queue_.front(), Failure::kExpired);
    queue_.pop_front();
  }
}

void Runner::Fail(const Call& call, Failure failure) {
  switch (call.purpose) {
    case Call::Purpose::kMeasured:
      recorder_.OnFailed(call.op, call.due, failure);
      --measured_left_;
      return;
    case Call::Purpose::kPreload:
    case Call::Purpose::kReadBack:
      again_.push_back(call);
      return;
    case Call::Purpose::kCounters:
      return;  // A sample less.
  }
}

void Runner::OnLost(const Call& call, Failure why) {
  Fail(call, interrupted_ ? Failure::kAborted : why);
}

void Runner::OnAnswer(const Call& call, const Answer& answer) {
  if (call.purpose == Call::Purpose::kCounters) return OnCounters(call, answer);
  const bool success = call.op == Op::kWrite ? answer.status / 100 == 2
                                             : answer.status == 200 || answer.status == 404;
  if (success) return OnSuccess(call, answer);
  const auto text = [&] {
    return fmt::format("{} answered {} {}", call.op == Op::kWrite ? "PUT" : "GET", answer.status,
                       answer.body.substr(0, 200));
  };
  if (call.purpose == Call::Purpose::kPreload && !preload_refused_) {
    preload_failure_ = text();
    preload_refused_ = !docstore::MayPass(answer.status);
  }
  if (answer.status == 503) return Fail(call, Failure::kPushedBack);
  if (first_refusal_.empty()) first_refusal_ = text();
  Fail(call, Failure::kRefused);
}

void Runner::OnSuccess(const Call& call, const Answer& answer) {
  if (call.purpose == Call::Purpose::kMeasured) {
    const TimePoint now = Now();
    recorder_.OnDone(call.op, call.due, now);
    if (call.op == Op::kWrite && call.due >= TimePoint{}) {
      writes_since_progress_.Record(now - call.due);
    }
    --measured_left_;
  } else {
    --others_left_;
  }
  if (verifier_) Check(call, answer);
}

void Runner::Check(const Call& call, const Answer& answer) {
  const std::optional<Stamp> stamp = ParseETag(answer.etag);
  if (call.op == Op::kWrite) {
    return verifier_->OnAcknowledged(call.section, call.sequence, stamp, call.known);
  }
  const Shown shown{answer.status == 200, stamp, answer.body};
  if (call.purpose == Call::Purpose::kReadBack) return verifier_->OnReadBack(call.section, shown);
  verifier_->OnRead(call.section, shown, call.known);
}

void Runner::OnCounters(const Call& call, const Answer& answer) {
  const auto counters = ParseServerCounters(answer.body);
  if (counters) samples_.push_back({call.sent, *counters});
}

}  // namespace stout::load
