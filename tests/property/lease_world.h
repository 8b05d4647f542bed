#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "stout/core/lease_keeper.h"
#include "stout/core/lease_ledger.h"
#include "stout/core/random.h"
#include "tests/support/catch.h"

namespace stout::test {

using namespace internal;
using namespace std::chrono_literals;

inline constexpr RangeId kRanges = 8;
inline constexpr Duration kTtl = 1s;
inline constexpr std::size_t kServers = 4;

// How bad the world is.
struct Weather {
  double lose = 0;          // Share of requests, and of answers, that never arrive.
  double late = 0;          // Share that takes up to three ttl instead of up to ttl / 50.
  double trouble = 0;       // Share of requests that are answered kTransient, undone.
  Duration pause_every{};   // Mean time between pauses of a server, of up to two ttl. 0: never.
  Duration deaths_every{};  // Mean time between deaths of a server. 0: never.
};

inline std::string AddressOf(std::size_t server) { return "server" + std::to_string(server); }

// Servers that share ranges, in a world where messages are late or lost, servers pause or die, and
// clocks run apart. It has the keepers of all servers, one ledger, and simulated time.
class LeaseWorld {
 public:
  explicit LeaseWorld(std::uint64_t seed) : random_(seed) {
    for (std::size_t i = 0; i < kServers; ++i) {
      servers_[i].address = AddressOf(i);
      servers_[i].clock_origin = Duration(random_.Below(1'000'000'000'000));
      servers_[i].clock_rate = 0.98 + 0.04 * random_.Unit();  // of the margin, four fifths
    }
  }

  void StartAll() {
    for (Server& server : servers_) StartServer(server);
  }
  void SetWeather(const Weather& weather) {
    weather_ = weather;
    for (Server& server : servers_) {
      Plan(server, weather.pause_every, &LeaseWorld::Pause);
      Plan(server, weather.deaths_every, &LeaseWorld::Die);
    }
  }

  // A range's wanted owner, or none. Servers learn of it at different times.
  void Want(RangeId range, const std::optional<std::string>& owner) {
    wanted_.erase(range);
    if (owner) wanted_[range] = *owner;
    ++wanted_version_;
    for (Server& server : servers_) ShowWanted(server);
  }

  void RunFor(Duration time) {
    const TimePoint end = now_ + time;
    while (!events_.empty() && events_.begin()->first <= end) {
      auto event = events_.extract(events_.begin());
      now_ = event.key();
      CheckOwners();
      event.mapped()();
      CheckOwners();
    }
    now_ = end;
  }

  // The expected state, once there has been no fault for a while.
  void CheckSettled() {
    std::vector<std::string> members;
    for (const Server& server : servers_) members.push_back(server.address);
    const std::vector<std::size_t> rightful = RightfulOwners(members, kRanges);
    for (RangeId range = 0; range < kRanges; ++range) {
      CAPTURE(range);
      std::vector<std::string> owners;
      for (const Server& server : servers_) {
        if (Owns(server, range)) owners.push_back(server.address);
      }
      const auto wanted = wanted_.find(range);
      CHECK(owners ==
            std::vector{wanted != wanted_.end() ? wanted->second : members[rightful[range]]});
    }
  }

  void LeaveAll() {
    for (Server& server : servers_) {
      server.keeper->Leave(LocalNow(server));
      CarryOut(server);
    }
  }
  [[nodiscard]] bool AllLeft() const {
    return std::all_of(servers_.begin(), servers_.end(), [](const Server& s) { return s.left; });
  }
  [[nodiscard]] LeaseTable Table() {
    ledger_.Expire(now_);
    return ledger_.Table();
  }

  std::size_t handed_over = 0;
  std::size_t lost = 0;
  std::size_t rejoined = 0;

 private:
  struct Server {
    std::string address;
    Duration clock_origin{};
    double clock_rate = 1;
    int incarnation = 0;                  // messages for other members are dropped
    std::unique_ptr<LeaseKeeper> keeper;  // Null: dead.
    TimePoint paused_until{};
    TimePoint tick_at = kNever;  // Local.
    std::map<RangeId, Epoch> serves;
    std::map<RangeId, Epoch> handed_over;  // Since it was acquired: Lost may still come after that.
    int wanted_seen = 0;
    bool left = false;
  };
  using Event = std::function<void()>;

  // --- Time ------------------------------------------------------------------------------------

  TimePoint LocalNow(const Server& server) const {
    const auto passed = static_cast<double>(now_.time_since_epoch().count()) * server.clock_rate;
    return TimePoint(server.clock_origin + Duration(static_cast<Duration::rep>(passed)));
  }
  TimePoint ToGlobal(const Server& server, TimePoint local) const {
    const Duration since = local.time_since_epoch() - server.clock_origin;
    return TimePoint(Duration(static_cast<Duration::rep>(static_cast<double>(since.count()) /
                                                         server.clock_rate))) +
           1us;  // rounding
  }
  Duration UpTo(Duration most) {
    return Duration(
        static_cast<Duration::rep>(random_.Below(static_cast<std::uint64_t>(most.count()) + 1)));
  }
  bool Happens(double share) { return random_.Unit() < share; }
  void After(Duration pause, Event event) { events_.emplace(now_ + pause, std::move(event)); }

  // --- Servers ---------------------------------------------------------------------------------

  void StartServer(Server& server) {
    ++server.incarnation;
    server.keeper = std::make_unique<LeaseKeeper>(server.address, kRanges, kTtl);
    server.serves.clear();
    server.left = false;
    Input(server, [this, &server] { server.keeper->Start(LocalNow(server)); });
    ShowTable(server);
    ShowWanted(server);
  }

  void Plan(Server& server, Duration every, void (LeaseWorld::*what)(Server&)) {
    if (every == Duration::zero()) return;
    After(UpTo(2 * every), [this, &server, every, what] {
      if (weather_.pause_every == Duration::zero()) return;  // The storm is over.
      (this->*what)(server);
      Plan(server, every, what);
    });
  }
  void Pause(Server& server) { server.paused_until = now_ + UpTo(2 * kTtl); }
  void Die(Server& server) {
    server.keeper.reset();
    ++server.incarnation;
    After(UpTo(2 * kTtl), [this, &server] {
      if (server.keeper == nullptr) StartServer(server);
    });
  }

  // Something that happens in a server: later, if it is paused; never, if it dies before.
  void Input(Server& server, Event event) {
    if (server.paused_until > now_) {
      After(server.paused_until - now_ + UpTo(10us),
            [this, &server, event = std::move(event), incarnation = server.incarnation] {
              if (server.incarnation == incarnation) Input(server, event);
            });
      return;
    }
    event();
    CarryOut(server);
  }

  void CarryOut(Server& server) {
    for (const lease::Action& action : server.keeper->TakeActions()) {
      std::visit([&](const auto& a) { Do(server, a); }, action);
    }
    for (RangeId range = 0; range < kRanges; ++range) {
      const auto found = server.serves.find(range);
      const Epoch serves = found == server.serves.end() ? 0 : found->second;
      if (server.keeper->HeldEpoch(range) != 0) CHECK(server.keeper->HeldEpoch(range) == serves);
    }
    const TimePoint next = server.keeper->NextTick();
    if (next == kNever) return;
    const TimePoint at = std::max(now_, ToGlobal(server, next));
    if (at >= server.tick_at && server.tick_at > now_) return;
    server.tick_at = at;
    After(at - now_, [this, &server, at, incarnation = server.incarnation] {
      if (server.incarnation != incarnation) return;
      if (server.tick_at == at) server.tick_at = kNever;
      Input(server, [this, &server] { server.keeper->Tick(LocalNow(server)); });
    });
  }

  // --- The service -----------------------------------------------------------------------------

  // A request to the ledger, and its answer as an input of the server's.
  template <typename Request, typename Answer>
  void Call(Server& server, Request request, Answer answer) {
    if (Happens(weather_.lose)) return;
    const auto reply = [this, &server, answer, incarnation = server.incarnation](auto result) {
      if (Happens(weather_.lose)) return;
      After(Travel(), [this, &server, answer, result, incarnation] {
        if (server.incarnation != incarnation) return;
        Input(server, [this, &server, answer, result] {
          answer(*server.keeper, result, LocalNow(server));
        });
      });
    };
    After(Travel(), [this, request, reply] {
      using ResultType = decltype(request(ledger_, now_));
      if (Happens(weather_.trouble)) return reply(ResultType{Errc::kTransient});
      const ResultType result = request(ledger_, now_);
      ShowChanges();
      reply(result);
    });
  }
  Duration Travel() { return UpTo(Happens(weather_.late) ? 3 * kTtl : kTtl / 50); }

  void ShowChanges() {
    LeaseTable table = ledger_.Table();
    if (table == shown_) return;
    shown_ = std::move(table);
    ++shown_version_;
    for (Server& server : servers_) ShowTable(server);
    const TimePoint expiry = ledger_.NextExpiry();
    if (expiry == kNever) return;
    After(expiry - now_, [this] {
      ledger_.Expire(now_);
      ShowChanges();
    });
  }
  // The newest of what is on its way counts: a server never sees an older one later.
  void ShowTable(Server& server) {
    After(Travel(), [this, &server, table = shown_, version = shown_version_,
                     incarnation = server.incarnation] {
      if (server.incarnation != incarnation || server.keeper == nullptr) return;
      Input(server, [this, &server, table, version] {
        if (std::exchange(seen_[&server], std::max(seen_[&server], version)) > version) return;
        server.keeper->OnTable(table, LocalNow(server));
      });
    });
  }

  // The same, and later than any table.
  void ShowWanted(Server& server) {
    After(UpTo(3 * kTtl), [this, &server, wanted = wanted_, version = wanted_version_,
                           incarnation = server.incarnation] {
      if (server.incarnation != incarnation || server.keeper == nullptr) return;
      Input(server, [this, &server, wanted, version] {
        if (std::exchange(server.wanted_seen, std::max(server.wanted_seen, version)) > version) {
          return;
        }
        server.keeper->OnWantedOwners(wanted, LocalNow(server));
      });
    });
  }

  void Do(Server& server, const lease::Join& a) {
    ++rejoined;
    Call(
        server,
        [address = server.address](LeaseLedger& ledger, TimePoint now) {
          return ledger.Join(address, kRanges, kTtl, now);
        },
        [a](LeaseKeeper& keeper, LeaseLedger::Joined joined, TimePoint now) {
          keeper.OnJoined(a.attempt, joined.errc, joined.session, now);
        });
  }
  void Do(Server& server, const lease::KeepAlive& a) {
    Call(
        server,
        [a](LeaseLedger& ledger, TimePoint now) { return ledger.KeepAlive(a.session, now); },
        [a](LeaseKeeper& keeper, Errc errc, TimePoint now) {
          keeper.OnKeptAlive(a.session, a.sent, errc, now);
        });
  }
  void Do(Server& server, const lease::Leave& a) {
    Call(
        server,
        [a](LeaseLedger& ledger, TimePoint now) {
          ledger.Leave(a.session, now);
          return Errc::kOk;
        },
        [a](LeaseKeeper& keeper, Errc errc, TimePoint now) {
          keeper.OnLeft(a.session, errc, now);
        });
  }
  void Do(Server& server, const lease::Acquire& a) {
    Call(
        server,
        [a](LeaseLedger& ledger, TimePoint now) { return ledger.Acquire(a.session, a.range, now); },
        [a](LeaseKeeper& keeper, LeaseLedger::Acquired acquired, TimePoint now) {
          keeper.OnAcquired(a.attempt, a.range, acquired.errc, acquired.epoch, now);
        });
  }
  void Do(Server& server, const lease::Release& a) {
    Call(
        server,
        [a](LeaseLedger& ledger, TimePoint now) {
          return ledger.Release(a.session, a.range, a.epoch, now);
        },
        [a](LeaseKeeper& keeper, Errc errc, TimePoint now) {
          keeper.OnReleased(a.attempt, a.range, errc, now);
        });
  }

  // --- The application -------------------------------------------------------------------------

  void Do(Server& server, const lease::Acquired& a) {
    CHECK(server.serves.emplace(a.range, a.epoch).second);
    server.handed_over[a.range] = 0;
    CHECK(a.epoch > newest_epoch_[a.range]);
    newest_epoch_[a.range] = a.epoch;
  }
  void Do(Server& server, const lease::HandOver& a) {
    ++handed_over;
    CHECK(server.serves[a.range] == a.epoch);
    After(UpTo(Happens(0.1) ? 2 * kTtl : kTtl / 20),
          [this, &server, a, incarnation = server.incarnation] {
            if (server.incarnation != incarnation) return;
            Input(server, [this, &server, a] {
              const auto found = server.serves.find(a.range);
              if (found != server.serves.end() && found->second == a.epoch) {
                server.serves.erase(found);
                server.handed_over[a.range] = a.epoch;
              }
              server.keeper->OnHandedOver(a.range, a.epoch, LocalNow(server));
            });
          });
  }
  void Do(Server& server, const lease::Lost& a) {
    ++lost;
    if (server.serves.erase(a.range) == 0) CHECK(server.handed_over[a.range] != 0);
  }
  void Do(Server&, const lease::Refused&) { FAIL("nobody is refused"); }
  void Do(Server& server, const lease::Left&) {
    CHECK(server.serves.empty());
    server.left = true;
  }

  // --- What must hold --------------------------------------------------------------------------

  // Also of a server that is paused: it would say so if it were asked as it wakes.
  bool Owns(const Server& server, RangeId range) const {
    return server.keeper != nullptr && server.keeper->HeldEpoch(range) != 0 &&
           LocalNow(server) < server.keeper->valid_until();
  }
  void CheckOwners() const {
    for (RangeId range = 0; range < kRanges; ++range) {
      int owners = 0;
      for (const Server& server : servers_) owners += Owns(server, range) ? 1 : 0;
      if (owners > 1) FAIL("range " << range << " has " << owners << " owners");
    }
  }

  SplitMix64 random_;
  TimePoint now_{};
  std::multimap<TimePoint, Event> events_;
  Weather weather_;
  LeaseLedger ledger_{1000};
  LeaseTable shown_;
  int shown_version_ = 0;
  std::map<const Server*, int> seen_;
  std::map<RangeId, std::string> wanted_;
  int wanted_version_ = 0;
  std::map<RangeId, Epoch> newest_epoch_;
  std::array<Server, kServers> servers_;
};

}  // namespace stout::test
