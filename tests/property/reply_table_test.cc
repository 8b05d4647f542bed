// The same random operations on ReplyTable and on a model: a reply is a set of (key, version).
#include "stout/core/reply_table.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "stout/core/random.h"
#include "tests/support/catch.h"
#include "tests/support/rounds.h"

namespace stout {
using namespace internal;
namespace {

using namespace std::chrono_literals;
constexpr int kKeys = 4;
constexpr Duration kDeadline = 20ms;

struct Model {
  struct Reply {
    std::set<std::pair<int, Version>> needs;
    TimePoint deadline;
    bool is_flush;
    Errc errc = Errc::kOk;
  };
  std::map<ReplyId, Reply> waiting;
  std::vector<RunReply> ran;

  template <typename Ends>
  void End(Ends ends) {
    for (auto it = waiting.begin(); it != waiting.end();) {
      const bool hopeless = it->second.errc != Errc::kOk && !it->second.is_flush;
      const bool ended = ends(it->second) || it->second.needs.empty() || hopeless;
      if (ended) ran.push_back({it->first, it->second.errc});
      it = ended ? waiting.erase(it) : std::next(it);
    }
  }
  void Settle(int key, Version version, Errc errc) {
    for (auto& [id, reply] : waiting) {
      const auto settled = std::erase_if(reply.needs, [&](const auto& need) {
        return need.first == key && need.second <= version;
      });
      if (settled == 0) continue;
      if (errc != Errc::kOk && reply.errc == Errc::kOk) reply.errc = errc;
    }
    End([](const Reply&) { return false; });
  }
  void Expire(TimePoint now) {
    End([&](Reply& reply) {
      const bool late = !reply.is_flush && reply.deadline <= now;
      if (late) reply.errc = Errc::kDeadline;
      return late;
    });
  }
};

TEST_CASE("ReplyTable runs what a set of needs says, once", "[reply][long]") {
  const auto seed =
      GENERATE(take(test::Rounds("STOUT_SEEDS", 100), random<std::uint64_t>(0, UINT64_MAX)));
  CAPTURE(seed);
  SplitMix64 random(seed);
  Effects effects;
  ReplyTable table(kDeadline, effects);
  Model model;
  std::array<ReplyTable::Ring, kKeys> rings;
  rings.fill(ReplyTable::kNone);
  std::array<Version, kKeys> newest{};
  TimePoint now{};
  ReplyId last = 0;

  for (int step = 0; step < 1000; ++step) {
    now += Duration(static_cast<Duration::rep>(random.Below(1'000'000)));
    const auto key = static_cast<int>(random.Below(kKeys));
    switch (random.Below(5)) {
      case 0:
      case 1: {
        const bool is_flush = random.Below(8) == 0;
        const ReplyTable::Index reply =
            is_flush ? table.RegisterFlush(++last, now) : table.Register(++last, now);
        Model::Reply& expected = model.waiting[last];
        expected = {.needs = {}, .deadline = now + kDeadline, .is_flush = is_flush};
        for (std::uint64_t i = random.Below(4); i > 0; --i) {
          const auto k = static_cast<int>(random.Below(kKeys));
          newest[k] += random.Below(2);
          table.DependOn(reply, rings[k], newest[k]);
          expected.needs.insert({k, newest[k]});
        }
        table.Seal(reply, Errc::kOk, now);
        model.End([](const Model::Reply&) { return false; });
        break;
      }
      case 2:
      case 3: {
        const Version version = newest[key] - random.Below(std::min<Version>(newest[key], 2) + 1);
        const Errc errc = random.Below(5) == 0 ? Errc::kRefused : Errc::kOk;
        table.Settle(rings[key], version, errc, now);
        model.Settle(key, version, errc);
        break;
      }
      default:
        table.Expire(now);
        model.Expire(now);
    }
    const auto by_id = [](const RunReply& a, const RunReply& b) { return a.id < b.id; };
    std::sort(effects.replies.begin(), effects.replies.end(), by_id);
    REQUIRE(effects.replies == model.ran);
    REQUIRE(table.held() == model.waiting.size());
    effects.replies.clear();
    model.ran.clear();
  }
}

}  // namespace
}  // namespace stout
