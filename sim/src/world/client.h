#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stout/core/effects.h"
#include "stout/core/engine.h"
#include "stout/core/state_source.h"
#include "stout/core/types.h"
#include "stout/sim/random.h"
#include "world/arrivals.h"
#include "world/key_space.h"
#include "world/recorder.h"

namespace stout::sim::internal {
using namespace stout::internal;

/// The parameters of one application server.
struct ClientSetup {
  std::uint32_t id = 0;  ///< Unique in the run; one that comes back is another.
  EngineOptions engine;
  LaneId lanes = 1;  ///< 1, or the partitions of the store.
  Duration clock{};  ///< reading of its clock at the start of the run
  KeySpace keys;
  double read_fraction = 0;
};

/// An application server: takes requests and drives a real Engine exactly as the shell does.
///
/// A request is not an event of the world. The client knows its arrivals in advance. It takes them
/// in, each at its own time, just before another event reaches the engine. This works because a
/// change can make a lane send earlier than its last Poll returned only in two cases:
///  - the lane had nothing ready to be sent before that change; or
///  - the change fills a batch (LaneOptions::max_batch_items, Decision::full_window). A lane is
///    *settled* when a change became ready after its last send and was not sent at once: then
///    Poll's answer holds until the next answer of the store. While a lane is not settled, or if
///    there are enough keys to fill a batch, the next arrival wakes the client. (A request that
///    finds its key clean changes nothing and is replied to at once. Reply deadlines of later
///    requests are later than that of the change that settled the lane.)
///
/// Owner: the run.   Threads: none of its own.
class Client final : private StateSource {
 public:
  /// Takes the batches that clients send.
  class Network {
   public:
    virtual void Send(Client& client, WriteBatch batch, TimePoint now) = 0;

   protected:
    ~Network() = default;
  };

  Client(const ClientSetup& setup, std::unique_ptr<Arrivals> arrivals, Random random, TimePoint now,
         Network& network, Recorder& recorder);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Does what is due. It must be called at due(); earlier does no harm.
  void Wake(TimePoint now);
  /// Returns the time at which the client must be woken if no event reaches it first.
  [[nodiscard]] TimePoint due() const;

  /// The store has answered a batch.
  void Answer(WriteBatch batch, const WriteResult& result, TimePoint now);

  /// Takes in what has arrived until now; see Arrivals::SetRate.
  void SetRate(double per_s, TimePoint now);
  /// Takes in what has arrived before now; these are what arrives from now on.
  void SetArrivals(std::unique_ptr<Arrivals> arrivals, TimePoint now);
  void TakeArrivalsUntil(TimePoint now);

  /// Offers no more, sends what it has, and ends when that is durable.
  void Leave(TimePoint now);

  [[nodiscard]] std::uint32_t id() const { return id_; }
  [[nodiscard]] TimePoint joined() const { return joined_; }
  [[nodiscard]] const ClientTally& tally() const { return tally_; }
  /// When the agenda will wake it; kept by the run.
  TimePoint scheduled = kNever;

 private:
  Serialized Serialize(KeyView, std::string&) noexcept override { return Serialized::kValue; }

  [[nodiscard]] TimePoint Clock(TimePoint world) const { return world + clock_; }
  /// `recorded`: the key that it changes. Other requests draw their key, and may only read it.
  void TakeRequest(TimePoint at, std::optional<std::uint64_t> recorded);
  void TakeRead(KeyRef key, TimePoint at);
  void TakeChange(KeyRef key, TimePoint at);
  void Poll(TimePoint now);
  void CarryOut(TimePoint now);
  void CountReply(const RunReply& reply, TimePoint now);
  void CountSend(const WriteBatch& batch, TimePoint now);
  [[nodiscard]] bool MayFillBatch(LaneId lane) const;
  void Settle(LaneId lane, bool settled);

  const std::uint32_t id_;
  const LaneId lanes_;
  const Duration clock_;
  const KeySpace keys_;
  const double read_fraction_;
  const std::uint64_t max_batch_items_;
  const TimePoint joined_;
  Network& network_;
  Recorder& recorder_;

  std::unique_ptr<Arrivals> arrivals_;
  Random random_;
  std::unique_ptr<Engine> engine_;  // null once it has left
  Effects effects_;
  TimePoint poll_at_ = kNever;  // as the engine said
  std::vector<bool> settled_;   // by lane
  LaneId unsettled_;            // how many are not
  TimePoint last_send_ = kNever;
  ClientTally tally_;
};

}  // namespace stout::sim::internal
