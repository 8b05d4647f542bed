#include "world/client.h"

#include <algorithm>
#include <utility>

namespace stout::sim::internal {
namespace {

// A reply's name tells all that is to be known of it: when the request arrived, and its kind.
ReplyId NameOf(TimePoint arrived, bool is_read) {
  return static_cast<ReplyId>(arrived.time_since_epoch().count()) << 1 |
         static_cast<ReplyId>(is_read);
}
bool IsRead(ReplyId id) { return (id & 1) != 0; }
TimePoint ArrivalOf(ReplyId id) { return TimePoint(Duration(id >> 1)); }

}  // namespace

Client::Client(const ClientSetup& setup, std::unique_ptr<Arrivals> arrivals, Random random,
               TimePoint now, Network& network, Recorder& recorder)
    : id_(setup.id),
      lanes_(setup.lanes),
      clock_(setup.clock),
      keys_(setup.keys),
      read_fraction_(setup.read_fraction),
      max_batch_items_(setup.engine.lane.max_batch_items),
      joined_(now),
      network_(network),
      recorder_(recorder),
      arrivals_(std::move(arrivals)),
      random_(random),
      engine_(std::make_unique<Engine>(setup.engine, setup.lanes, Epoch{setup.id} + 1)),
      settled_(setup.lanes),
      unsettled_(setup.lanes) {}

// --- Time
// ------------------------------------------------------------------------------------------

TimePoint Client::due() const {
  return unsettled_ == 0 ? poll_at_ : std::min(poll_at_, arrivals_->next());
}

void Client::Wake(TimePoint now) {
  TakeArrivalsUntil(now);
  Poll(now);
}

void Client::Answer(WriteBatch batch, const WriteResult& result, TimePoint now) {
  if (engine_ == nullptr) return;  // it has left, while this attempt had timed out
  TakeArrivalsUntil(now);
  engine_->WriteDone(batch.lane, batch.id, result, Clock(now));
  engine_->Recycle(std::move(batch));
  Poll(now);
}

void Client::SetRate(double per_s, TimePoint now) {
  TakeArrivalsUntil(now);
  arrivals_->SetRate(per_s, now);
}

void Client::SetArrivals(std::unique_ptr<Arrivals> arrivals, TimePoint now) {
  TakeArrivalsUntil(now - Duration(1));  // what arrives now is the new ones'
  arrivals_ = std::move(arrivals);
}

void Client::Leave(TimePoint now) {
  SetArrivals(std::make_unique<RecordedArrivals>(nullptr, std::vector<std::uint32_t>{}, now), now);
  engine_->Drain();
  Poll(now);
}

// --- Requests
// --------------------------------------------------------------------------------------

void Client::TakeArrivalsUntil(TimePoint now) {
  for (TimePoint at = arrivals_->next(); at <= now; at = arrivals_->next()) {
    const std::optional<std::uint64_t> recorded = arrivals_->next_key();
    arrivals_->Advance();
    TakeRequest(at, recorded);
  }
}

void Client::TakeRequest(TimePoint at, std::optional<std::uint64_t> recorded) {
  const Key key = recorded ? Key(*recorded) : keys_.Draw(random_);
  const KeyRef ref{.lane = lanes_ == 1 ? 0 : PartitionOf(key.view(), lanes_), .key = key.view()};
  if (!recorded && read_fraction_ > 0 && random_.Unit() < read_fraction_) {
    TakeRead(ref, at);
  } else {
    TakeChange(ref, at);
  }
}

void Client::TakeRead(KeyRef key, TimePoint at) {
  const bool waits = engine_->IsDirty(key);
  engine_->SafeReply({&key, 1}, NameOf(at, true), Clock(at));
  if (!waits) CarryOut(at);
}

void Client::TakeChange(KeyRef key, TimePoint at) {
  recorder_.Offered(at);
  tally_.offered += static_cast<std::uint64_t>(recorder_.Measures(at));
  const bool settles = !settled_[key.lane] && !MayFillBatch(key.lane) && !engine_->IsDirty(key);
  if (engine_->MarkDirty(key, 0, Clock(at)).errc != Errc::kOk) {
    recorder_.Refused(at);
    arrivals_->Replied(at);
    return;
  }
  engine_->SafeReply({&key, 1}, NameOf(at, false), Clock(at));
  if (settles) Settle(key.lane, true);  // unless the Poll to come sends it
}

bool Client::MayFillBatch(LaneId lane) const {
  const Decision& decision = engine_->decision(lane);
  return max_batch_items_ <= keys_.count ||
         (decision.full_window > 0 && decision.max_items <= keys_.count);
}

void Client::Settle(LaneId lane, bool settled) {
  if (settled_[lane] == settled) return;
  settled_[lane] = settled;
  settled ? --unsettled_ : ++unsettled_;
}

// --- The engine
// --------------------------------------------------------------------------------------

void Client::Poll(TimePoint now) {
  if (engine_ == nullptr) return;
  const TimePoint next = engine_->Poll(Clock(now), *this);
  poll_at_ = next == kNever ? kNever : next - clock_;
  for (LaneId lane = 0; lane < lanes_; ++lane) {
    if (settled_[lane] && MayFillBatch(lane)) Settle(lane, false);  // by a new decision
  }
  CarryOut(now);
}

void Client::CarryOut(TimePoint now) {
  engine_->TakeEffects(effects_);
  for (WriteBatch& batch : effects_.writes) {
    Settle(batch.lane, false);
    CountSend(batch, now);
    network_.Send(*this, std::move(batch), now);
  }
  for (const RunReply& reply : effects_.replies) CountReply(reply, now);
  if (effects_.drained) {
    engine_.reset();
    poll_at_ = kNever;
  }
}

void Client::CountSend(const WriteBatch& batch, TimePoint now) {
  const TimePoint previous = std::exchange(last_send_, now);
  recorder_.Sent(batch.items.size(), previous == kNever ? Duration::zero() : now - previous,
                 engine_->decision(batch.lane), now);
  tally_.batches += static_cast<std::uint64_t>(recorder_.Measures(now));
}

void Client::CountReply(const RunReply& reply, TimePoint now) {
  const Duration latency = now - ArrivalOf(reply.id);
  arrivals_->Replied(now);
  if (IsRead(reply.id)) {
    if (reply.errc == Errc::kOk) recorder_.ReadReplied(latency, now);
  } else if (reply.errc == Errc::kOk) {
    recorder_.Written(latency, now);
    if (recorder_.Measures(now)) {
      ++tally_.completed;
      tally_.latency_ns += static_cast<double>(latency.count());
    }
  } else if (reply.errc == Errc::kPushedBack) {
    recorder_.Refused(now);
  } else {
    recorder_.Expired(now);
  }
}

}  // namespace stout::sim::internal
