#include "world/run.h"

#include <algorithm>
#include <utility>

#include "world/setup.h"
#include "world/units.h"

namespace stout::sim::internal {
namespace {

constexpr Duration kWallClock = std::chrono::seconds(1'700'000'000);

TimePoint At(double s) { return kStart + Seconds(s); }

/// Latest first request of a client. Without it, servers that space their sends by a timer would
/// all begin at once under a high load, and send in step for ever.
Duration Phase(const Policy& policy, Duration run, Random& random) {
  const Decision first = policy.Start();
  const Duration most = std::min(std::max(first.interval, first.gap), run / 4);
  return Nanoseconds(static_cast<double>(most.count()) * random.Unit());
}

}  // namespace

Run::Run(const Scenario& scenario, const PolicyOf& policy_of, const RunLimits& limits)
    : scenario_(scenario),
      policy_of_(policy_of),
      limits_(limits),
      end_(At(scenario.duration_s)),
      partitions_(PartitionsOf(scenario.store)),
      keys_(ShareKeys(scenario.keys, MostClients(scenario))),
      seeds_(scenario.seed),
      recorder_(scenario),
      store_(
          MakeStore(scenario.store,
                    Service(scenario.store, At(scenario.warmup_s), end_, seeds_.noise, seeds_.slow),
                    flights_, agenda_, seeds_.tenants)),
      links_(scenario.store, seeds_.jitter),
      load_(scenario.clients, MostClients(scenario), seeds_.load) {}

// --- The run -------------------------------------------------------------------------------------

Result Run::Execute() {
  constexpr std::uint64_t kEventsPerWatch = 64;  // an event of a large batch may take a millisecond
  constexpr std::uint64_t kEventsPerLook = 4096;
  Prepare();
  for (std::uint64_t events = 1; agenda_.next() < end_; ++events) {
    Handle(agenda_.Pop());
    const bool watches = limits_.watch && events % kEventsPerWatch == 0;
    const bool ends = watches && !limits_.watch(agenda_.now());
    if (!ends && events % kEventsPerLook != 0) continue;
    TakeArrivalsBefore(agenda_.now());
    if (ends || IsHopeless()) return Report(true);
  }
  TakeArrivalsBefore(end_);
  return Report(IsHopeless());
}

void Run::TakeArrivalsBefore(TimePoint time) {
  for (const std::uint32_t id : places_) clients_[id]->TakeArrivalsUntil(time - Duration(1));
}

void Run::Prepare() {
  // The steps first: of all that happens at one time, they do.
  for (std::uint32_t i = 0; i < scenario_.steps.size(); ++i) {
    agenda_.Push(At(scenario_.steps[i].at_s), {Event::Kind::kStep, i});
  }
  const ClientSpec& clients = scenario_.clients;
  if (clients.arrivals == ClientSpec::Arrivals::kOnOff) {
    for (std::uint32_t place = 0; place < MostClients(scenario_); ++place) TurnPlace(place);
  }
  if (clients.start_spread_s == 0) {
    SetClients(clients.count);
  } else {
    for (std::uint32_t i = 0; i < clients.count; ++i) {
      agenda_.Push(At(clients.start_spread_s * seeds_.starts.Unit()), {Event::Kind::kStart});
    }
  }
  if (clients.arrivals == ClientSpec::Arrivals::kMmpp) TurnBurst();
  if (scenario_.store.pause_every_s > 0) PlanPause(kStart);
}

void Run::Handle(Event event) {
  const TimePoint now = agenda_.now();
  switch (event.kind) {
    case Event::Kind::kWake:
      return Wake(*clients_[event.index], now);
    case Event::Kind::kArrive:
      return store_->Arrive(event.index, now);
    case Event::Kind::kServed:
      return store_->Served(event.index, now);
    case Event::Kind::kAnswer:
      return Answer(event.index);
    case Event::Kind::kTenant:
      return store_->TenantArrives(event.index, now);
    case Event::Kind::kPause:
      return Pause();
    case Event::Kind::kBurst:
      return TurnBurst();
    case Event::Kind::kStep:
      return Take(scenario_.steps[event.index]);
    case Event::Kind::kTurn:
      return TurnPlace(event.index);
    case Event::Kind::kStart:
      return SetClients(static_cast<std::uint32_t>(places_.size()) + 1);
  }
}

bool Run::IsHopeless() const {
  if (limits_.max_batches > 0 && recorder_.batches() > limits_.max_batches) return true;
  return limits_.max_backlog_s > 0 && load_.HasRate() &&
         static_cast<double>(recorder_.pending()) > limits_.max_backlog_s * load_.total_rate();
}

Result Run::Report(bool gave_up) {
  const TimePoint end = gave_up ? agenda_.now() : end_;
  std::vector<ClientTally> tallies;
  for (const std::uint32_t id : places_) {
    tallies.push_back(clients_[id]->tally());
    tallies.back().present = end - std::max(clients_[id]->joined(), At(scenario_.warmup_s));
  }
  Result result = recorder_.Finish(end, gave_up, tallies);
  result.scenario = scenario_.name;
  result.policy = policy_of_(0).Name();
  result.seed = scenario_.seed;
  const double server_time_s = result.measured_s * store_->servers();
  if (server_time_s > 0) {
    result.store_utilisation = std::min(1.0, ToSeconds(store_->busy()) / server_time_s);
  }
  result.digest = digest_.value();
  return result;
}

// --- Clients and their batches -------------------------------------------------------------------

void Run::Wake(Client& client, TimePoint now) {
  if (client.scheduled != now) return;  // it was woken earlier instead
  client.scheduled = kNever;
  // As long as no other part has an event, it goes on without the agenda. A client that only reads
  // would go on to the end, and an interrupt would wait for that.
  constexpr int kMaxWakes = 64;
  for (int wakes = 0; wakes < kMaxWakes; ++wakes) {
    client.Wake(now);
    now = client.due();
    if (now >= agenda_.next() || now >= end_) break;
  }
  Schedule(client);
}

// A client that is due later than it was is still woken at the earlier time: that does no harm, and
// the agenda need not forget anything.
void Run::Schedule(Client& client) {
  if (client.due() >= client.scheduled || client.due() >= end_) return;
  client.scheduled = client.due();
  agenda_.Push(client.scheduled, {Event::Kind::kWake, client.id()});
}

void Run::Send(Client& client, WriteBatch batch, TimePoint now) {
  Note(now, client.id(), batch.items.size());
  const FlightId id = flights_.Take();
  Flight& flight = flights_[id];
  flight.batch = std::move(batch);
  flight.client = client.id();
  flight.sent = now;
  flight.parts = flight.parts_left = 1;
  flight.dropped.clear();
  agenda_.Push(links_.Arrival(client.id(), now), {Event::Kind::kArrive, id});
}

void Run::Answer(FlightId id) {
  const TimePoint now = agenda_.now();
  Flight& flight = flights_[id];
  const Duration latency = now - flight.sent;
  const std::size_t items = flight.batch.items.size();
  const std::size_t drops = flight.dropped.size();
  const WriteResult result = ResultOf(flight);
  // An answer after the attempt's time-out comes too late: all was, or will be, sent again.
  const bool in_vain =
      result.batch != Errc::kOk || latency >= Seconds(scenario_.clients.attempt_timeout_s);
  recorder_.Answered(items, in_vain ? items : result.items.size(), drops, latency, now);
  Note(now, flight.client, drops);

  Client& client = *clients_[flight.client];
  WriteBatch batch = std::move(flight.batch);
  flights_.Give(id);
  client.Answer(std::move(batch), result, now);
  Schedule(client);
}

// Items of a partition whose queue was full were not written.
WriteResult Run::ResultOf(const Flight& flight) const {
  if (flight.dropped.empty()) return {};
  if (flight.dropped.size() == flight.parts) return {.batch = Errc::kTransient, .items = {}};
  WriteResult result;
  for (std::uint32_t i = 0; i < flight.batch.items.size(); ++i) {
    const LaneId partition = PartitionOf(flight.batch.items[i].key, partitions_);
    const auto& dropped = flight.dropped;
    if (std::find(dropped.begin(), dropped.end(), partition) != dropped.end()) {
      result.items.push_back({i, Errc::kTransient});
    }
  }
  return result;
}

void Run::Note(TimePoint now, std::uint32_t client, std::size_t what) {
  digest_.Mix(static_cast<std::uint64_t>(now.time_since_epoch().count()));
  digest_.Mix(client);
  digest_.Mix(what);
}

// --- What changes --------------------------------------------------------------------------------

void Run::Take(const Step& step) {
  if (step.store_speed) store_->SetSpeed(*step.store_speed);
  if (step.total_rate_per_s) load_.SetTotalRate(*step.total_rate_per_s);
  if (step.clients) {
    SetClients(*step.clients);
  } else if (step.total_rate_per_s) {
    SpreadRates();
  }
}

void Run::SetClients(std::uint32_t count) {
  load_.SetClients(count);
  while (places_.size() > count) {
    Leave(*clients_[places_.back()]);
    places_.pop_back();
  }
  SpreadRates();
  while (places_.size() < count) Join(static_cast<std::uint32_t>(places_.size()));
}

void Run::Join(std::uint32_t place) {
  const TimePoint now = agenda_.now();
  const ClientSpec& spec = scenario_.clients;
  Random random = seeds_.clients.Fork();
  const double offset_us = spec.clock_offset_us * (2 * random.Unit() - 1);
  const bool lane_per_partition = spec.lanes == ClientSpec::Lanes::kPerPartition;
  const Policy policy = policy_of_(place);
  const Duration phase = Phase(policy, end_ - kStart, random);
  KeySpace keys = keys_[place];
  if (spec.recording) keys.count = spec.recording->changes.size();  // at most, by any client
  const ClientSetup setup{.id = static_cast<std::uint32_t>(clients_.size()),
                          .engine = OptionsOf(spec, policy, random.Bits()),
                          .lanes = lane_per_partition ? partitions_ : 1,
                          .clock = kWallClock + Microseconds(offset_us),
                          .keys = std::move(keys),
                          .read_fraction = spec.read_fraction};
  // A recording has phases of its own, and no change of it is left out.
  const TimePoint start = spec.recording ? now : now + phase;
  std::unique_ptr<Arrivals> arrivals = load_.ArrivalsOf(place, start, random.Fork());
  clients_.push_back(
      std::make_unique<Client>(setup, std::move(arrivals), random.Fork(), now, *this, recorder_));
  places_.push_back(setup.id);
  Schedule(*clients_.back());
}

void Run::Leave(Client& client) {
  client.Leave(agenda_.now());
  Schedule(client);
}

// The present clients get their new share of the load.
void Run::SpreadRates() {
  const TimePoint now = agenda_.now();
  const bool recorded = scenario_.clients.arrivals == ClientSpec::Arrivals::kRecorded;
  for (std::uint32_t place = 0; place < places_.size(); ++place) {
    Client& client = *clients_[places_[place]];
    if (load_.HasRate()) client.SetRate(load_.RateOf(place), now);
    if (recorded) client.SetArrivals(load_.ArrivalsOf(place, now, seeds_.load), now);
    Schedule(client);
  }
}

void Run::TurnBurst() {
  agenda_.Push(agenda_.now() + load_.TurnBurst(), {Event::Kind::kBurst});
  SpreadRates();
}

// The place may be free: its next client finds it on or off.
void Run::TurnPlace(std::uint32_t place) {
  const TimePoint now = agenda_.now();
  agenda_.Push(now + load_.TurnPlace(place), {Event::Kind::kTurn, place});
  if (place >= places_.size()) return;
  Client& client = *clients_[places_[place]];
  client.SetRate(load_.RateOf(place), now);
  Schedule(client);
}

void Run::PlanPause(TimePoint from) {
  const StoreSpec& store = scenario_.store;
  const double gap = store.pause_regular ? 1 : seeds_.pauses.Exponential();
  agenda_.Push(from + Seconds(store.pause_every_s * gap), {Event::Kind::kPause});
}

// The next pause comes some time after this one.
void Run::Pause() {
  const TimePoint now = agenda_.now();
  const Duration length = Milliseconds(scenario_.store.pause_ms);
  store_->Pause(length, now);
  PlanPause(now + length);
}

}  // namespace stout::sim::internal
