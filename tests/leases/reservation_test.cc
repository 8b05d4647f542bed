#include "reservation.h"

#include <boost/asio/io_context.hpp>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "stout/core/hybrid_clock.h"
#include "stout/in_process_leases.h"
#include "tests/support/catch.h"
#include "tests/support/rounds.h"

namespace stout::test {
namespace {

using internal::HybridClock;

// A registry that is far away: a change may be lost, or done late, and so may its answer.
class FarRegistry final : public Registry {
 public:
  FarRegistry(Registry& registry, std::mt19937_64& random) : registry_(registry), random_(random) {}

  void Change(RegistryChange change, ChangeHandler handler) override {
    switch (calm ? 4 : random_() % 6) {
      case 0:
        handler(Errc::kTransient, {});
        return;
      case 1:
        handler(Errc::kUnknown, {});
        return;
      case 2:
        late_.push_back(std::move(change));
        handler(Errc::kUnknown, {});
        return;
      case 3:
        registry_.Change(std::move(change), [handler = std::move(handler)](auto, auto) mutable {
          handler(Errc::kUnknown, {});
        });
        return;
      default:
        registry_.Change(std::move(change), std::move(handler));
    }
  }
  void Read(ReadHandler handler) override { registry_.Read(std::move(handler)); }
  Watch WatchRecords(TableHandler) override { return {}; }
  Result<std::unique_ptr<LeaseService>> OpenTable(std::string_view, Diagnostics*) override {
    return ErrorCode(Errc::kBadOptions);
  }

  void DoLateChanges() {
    for (RegistryChange& change : std::exchange(late_, {})) {
      registry_.Change(std::move(change), [](ErrorCode, ChangeAnswer) {});
    }
  }

  bool calm = false;

 private:
  Registry& registry_;
  std::mt19937_64& random_;
  std::vector<RegistryChange> late_;
};

// Nodes that reserve versions, use them, and are restarted.
class Nodes {
 public:
  explicit Nodes(std::uint64_t seed) : random_(seed) {
    for (int i = 0; i < 3; ++i) Restart(nodes_.emplace_back());
  }

  // All numbers are taken for a long time, so all nodes want the same one.
  void TakeAllNumbers() {
    const std::uint64_t now = nodes_.front().versions->clock()->Present();
    for (std::uint32_t i = 0; i < HybridClock::kNumbers; ++i) {
      registry().Change(ReserveVersions(i, now + 1'000'000'000 + i, 0),
                        [](ErrorCode ec, ChangeAnswer) { REQUIRE_FALSE(ec); });
    }
    context_.poll();
    context_.restart();
  }

  void Step() {
    Node& node = nodes_[random_() % nodes_.size()];
    switch (random_() % 16) {
      case 0:
        Restart(node);
        break;
      case 1:
        far_.DoLateChanges();
        break;
      case 2:  // Time passes.
        node.versions->clock()->Observe(
            (node.versions->clock()->Present() + random_() % 200'000'000)
            << HybridClock::kNumberBits);
        break;
      case 3:
        Read();
        break;
      case 4:
      case 5:
      case 6:
        context_.poll_one();
        context_.restart();
        break;
      case 7:
      case 8:
      case 9:
        node.versions->Tick(records_);
        break;
      default:
        Use(node);
    }
  }

  void CheckThatAllWrite() {
    far_.calm = true;
    far_.DoLateChanges();
    for (int i = 0; i < 10; ++i) {
      Read();
      for (Node& node : nodes_) node.versions->Tick(records_);
      context_.poll();
      context_.restart();
    }
    for (Node& node : nodes_) CHECK(Use(node));
  }

 private:
  struct Node {
    std::shared_ptr<Reservation> versions;
    Version newest = 0;
  };

  Registry& registry() { return *static_cast<LeaseService&>(leases_).registry(); }

  void Restart(Node& node) { node = {std::make_shared<Reservation>(far_, random_()), 0}; }

  // Ticks see what was read last, which may be old.
  void Read() {
    registry().Read([this](ErrorCode ec, RegistryTable table) {
      CHECK_FALSE(ec);
      records_ = std::move(table);
    });
  }

  bool Use(Node& node) {
    const std::optional<Version> version = node.versions->clock()->Next();
    if (!version) return false;
    CHECK(*version > node.newest);
    node.newest = *version;
    CHECK(used_.insert(*version).second);
    return true;
  }

  std::mt19937_64 random_;
  boost::asio::io_context context_;
  InProcessLeases leases_{context_.get_executor()};
  FarRegistry far_{registry(), random_};
  RegistryTable records_;
  std::vector<Node> nodes_;
  std::set<Version> used_;
};

}  // namespace

TEST_CASE("no two nodes give the same version", "[reservation][not_tsan]") {
  const std::uint64_t seeds = Rounds("STOUT_SEEDS", 30);
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    CAPTURE(seed);
    Nodes nodes(seed);
    if (seed % 10 == 0) nodes.TakeAllNumbers();
    for (int i = 0; i < 500; ++i) nodes.Step();
    nodes.CheckThatAllWrite();
  }
}

}  // namespace stout::test
