// A server that joins a deployment: the configuration, and the stores that it brings.

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "registry_test_support.h"
#include "stout/adapters/member_ranges.h"
#include "stout/in_process_leases.h"
#include "tests/adapters/hooked_store.h"

namespace stout::test {
namespace {

std::unique_ptr<HookedStore> MakeStore(const boost::asio::any_io_executor& executor, bool durable) {
  auto store = std::make_unique<HookedStore>(executor);
  store->own_traits().durable = store->own_traits().detects_loss = durable;
  return store;
}

struct Joining {
  // Returns the error's text, or "".
  std::string Join(const DataletOpener& open) {
    Diagnostics why;
    const auto agreed = JoinDeployment(
        context, leases, ClusterConfig{}, [](auto&) {}, {"x://h"}, open, &why);
    return agreed ? "" : why.message;
  }
  // Opens a store that has these keys.
  DataletOpener With(std::vector<std::string> keys) {
    return [this, keys = std::move(keys)](const std::string&,
                                          Diagnostics*) -> Result<std::unique_ptr<Store>> {
      auto store = MakeStore(context.get_executor(), true);
      WriteBatch batch{.epoch = 1};
      for (const std::string& key : keys) {
        batch.items.push_back({.key = key, .value = "v", .version = 1});
      }
      if (!keys.empty()) {
        CHECK(store->AsyncWrite(batch, boost::asio::use_future).get().batch == Errc::kOk);
      }
      return std::unique_ptr<Store>(std::move(store));
    };
  }

  boost::asio::io_context context;
  boost::asio::thread_pool pool{1};
  InProcessLeases leases{pool.get_executor()};
};

TEST_CASE("a node is judged by the settings that it would have in the deployment", "[members]") {
  boost::asio::thread_pool pool(1);
  InProcessLeases leases(pool.get_executor());
  const ClusterConfig wanted{.min_in = 4};
  const auto join = [&] {
    Diagnostics why;
    const auto agreed = AgreeOnConfig(
        *leases.registry(), wanted, [&](ClusterConfig& kept) { kept.min_in = wanted.min_in; },
        &why);
    CHECK((agreed || agreed.error() == Errc::kBadOptions));
    return agreed ? "" : why.message;
  };
  CHECK(join() == "min-in is 4: use 1 to replicas (3)");  // it would be the first node
  Make(leases, ChangeConfig({.replicas = 5, .min_in = 4}, 0));
  CHECK(join() == "");
}

TEST_CASE("a store that comes to a deployment must be empty", "[members]") {
  Joining joining;
  CHECK(joining.Join(joining.With({})) == "");
  CHECK(joining.Join(joining.With({"stout:data"})) == "");
  CHECK_THAT(joining.Join(joining.With({"stout:data", "theirs"})),
             Catch::Contains("datalet x://h: it has keys already, like 'theirs'"));
  // It has members' data already, but no keys of clients.
  CHECK_THAT(joining.Join(joining.With({"stout:data", "stout:datalet:stout-node/3"})),
             Catch::Contains("it is a datalet of a deployment already, or was one") &&
                 Catch::Contains("'stout:datalet:stout-node/3'"));
  CHECK_THAT(joining.Join(joining.With({"stout:mark:stout-node/3"})),
             Catch::Contains("name an empty store"));
  // A table may have it first.
  CHECK(joining.Join(joining.With({"stout:t17!k", "stout:t17!stout:datalet:stout-node/t17/3"})) ==
        "");
  for (const char* const key : {"stout:t!k", "stout:t17", "stout:t1a!k", "stout:x1!k"})
    CHECK_FALSE(joining.Join(joining.With({key})).empty());
  // One that is known has keys, and need not be there.
  Make(joining.leases, AddDatalet("x", {.url = "x://h"}, 0));
  CHECK(joining.Join(joining.With({"ours"})) == "");
}

TEST_CASE("a store that comes to a deployment must open, and suit", "[members]") {
  Joining joining;
  CHECK_THAT(joining.Join([](const std::string&, Diagnostics* why) {
    return Fail(Errc::kBadUrl, "no such scheme", why);
  }),
             Catch::Contains("datalet x://h: no such scheme"));
  CHECK_THAT(joining.Join([&](const std::string&, Diagnostics*) -> Result<std::unique_ptr<Store>> {
    return std::unique_ptr<Store>(MakeStore(joining.context.get_executor(), false));
  }),
             Catch::Contains("detect_loss=true"));
}

// Answers one read. The coordinator cannot be reached after that.
class FadingRegistry final : public Registry {
 public:
  explicit FadingRegistry(Registry& registry) : registry_(registry) {}

  void Change(RegistryChange change, ChangeHandler handler) override {
    registry_.Change(std::move(change), std::move(handler));
  }
  void Read(ReadHandler handler) override {
    reads_++ == 0 ? registry_.Read(std::move(handler)) : handler(Errc::kTransient, {});
  }
  Watch WatchRecords(TableHandler handler) override {
    return registry_.WatchRecords(std::move(handler));
  }
  Result<std::unique_ptr<LeaseService>> OpenTable(std::string_view, Diagnostics*) override {
    return Errc::kBadOptions;
  }

 private:
  Registry& registry_;
  int reads_ = 0;
};

class FadingLeases final : public LeasesAlone {
 public:
  explicit FadingLeases(Registry& registry) : registry_(registry) {}
  Registry* registry() override { return &registry_; }

 private:
  FadingRegistry registry_;
};

TEST_CASE("a datalet is not taken for new because the registry does not answer", "[members]") {
  Joining joining;
  REQUIRE(joining.Join(joining.With({})) == "");
  Make(joining.leases, AddDatalet("x", {.url = "x://h"}, 0));
  FadingLeases fading(*joining.leases.registry());
  Diagnostics why;
  constexpr int kAttempts = 2;
  const auto agreed = JoinDeployment(
      joining.context, fading, ClusterConfig{}, [](auto&) {}, {"x://h"}, joining.With({"ours"}),
      &why, kAttempts);
  REQUIRE(agreed.has_error());
  CHECK(agreed.error() == Errc::kTransient);
  CHECK_THAT(why.message, Catch::StartsWith("the lease service does not answer"));
}

}  // namespace
}  // namespace stout::test
