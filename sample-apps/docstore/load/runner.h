#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "load/call.h"
#include "load/connection.h"
#include "load/load_options.h"
#include "load/recorder.h"
#include "load/request_writer.h"
#include "load/run_report.h"
#include "load/schedule.h"
#include "load/verifier.h"

namespace stout::load {

/// Carries out one run on the calling thread: preload, the schedule, the wait for the last answers,
/// the read-back.
///
/// Every call passes through one queue. It enters when it is due, leaves when a connection has
/// room, and its latency counts from when it was due. Calls that belong to the run and cannot be
/// sent within the time-out expire in the queue, which bounds it to rate x time-out.
///
/// Errors: throws std::runtime_error if the server cannot be reached at the start, refuses a
/// section of the preload, or takes none for two time-outs. A server that dies later is part of
/// what is measured.
class Runner : private Connection::Owner {
 public:
  /// With `verifier`, checks every answer, and goes on from what it knows already.
  Runner(const LoadOptions& options, std::optional<Verifier> verifier);

  RunReport Run();
  /// Only reads back and compares what the verifier knows.
  RunReport VerifyOnly();

  [[nodiscard]] const std::optional<Verifier>& verifier() const { return verifier_; }

 private:
  using Steady = std::chrono::steady_clock;

  // Phases.
  void Connect();
  void Preload();
  void Drive();
  void Drain();
  // After an interrupt, only notes what the answers so far have shown.
  void ReadBack();
  RunReport Report();
  void RunUntil(const std::function<bool()>& done);

  // The run.
  void ArmSchedule();
  void OfferDue();
  void ArmSampling();
  void SampleCounters();
  [[nodiscard]] bool CountersSettled() const;
  void Tick();
  void ShowProgress(TimePoint now);
  void ClearProgress() const;
  void PrintProgress(const Window& second);
  void Interrupt();

  // Calls.
  void Pump();
  Connection* Roomiest();
  void Transmit(Connection& connection, Call call);
  void ExpireQueue(TimePoint now);
  void Fail(const Call& call, Failure failure);
  void OnAnswer(const Call& call, const Answer& answer) override;
  void OnLost(const Call& call, Failure why) override;
  void OnRoom() override { Pump(); }
  void OnSuccess(const Call& call, const Answer& answer);
  void Check(const Call& call, const Answer& answer);
  void OnCounters(const Call& call, const Answer& answer);

  [[nodiscard]] TimePoint Now() const { return TimePoint(Steady::now() - origin_); }

  const LoadOptions options_;
  std::optional<Verifier> verifier_;
  const std::uint64_t run_;          // in every body; see BodyTag
  std::uint64_t last_sequence_ = 0;  // without a verifier

  boost::asio::io_context io_{1};
  boost::asio::signal_set signals_;
  boost::asio::steady_timer schedule_timer_;
  boost::asio::steady_timer sample_timer_;
  boost::asio::steady_timer tick_timer_;
  RequestWriter writer_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::unique_ptr<Connection> counters_connection_;
  std::size_t next_connection_ = 0;

  Workload workload_;
  Schedule schedule_;
  Recorder recorder_;
  std::vector<CounterSample> samples_;
  std::deque<TimePoint> sample_times_;  // still to come
  std::chrono::seconds next_progress_{1};
  bool progress_shown_ = false;
  Histogram writes_since_progress_;  // latencies of those answered

  Steady::time_point origin_;        // of TimePoint: when the first step begins
  std::deque<Call> queue_;           // due, not yet sent
  std::vector<Call> again_;          // of preload and read-back, after a failure: for the next tick
  std::uint64_t measured_left_ = 0;  // offered, end unknown
  std::uint64_t others_left_ = 0;    // of preload or read-back
  bool measuring_ = false;           // from the warm-up to the last answer
  bool interrupted_ = false;
  TimePoint interrupted_at_ = kNever;
  std::string first_refusal_;
  std::string preload_failure_ = "no answer";
  bool preload_refused_ = false;  // a repetition is of no use
  std::optional<VerifyResult> verify_result_;
};

}  // namespace stout::load
