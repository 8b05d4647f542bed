// Negative controls: the contract suite notices a registry that compares too little.

#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <utility>

#include "registry_test_support.h"
#include "stout/core/registry_ledger.h"
#include "stout/feed.h"
#include "stout/in_process_leases.h"

namespace stout::test {
namespace {

// Right leases, and a registry that forgets a comparison.
class Careless final : public LeaseService, private Registry {
 public:
  using Forget = std::function<void(RegistryChange&)>;

  explicit Careless(Forget forget) : forget_(std::move(forget)) {}

  void Join(const LeaseMember& member, JoinHandler handler) override {
    leases_.Join(member, std::move(handler));
  }
  void KeepAlive(SessionId session, Handler handler) override {
    leases_.KeepAlive(session, std::move(handler));
  }
  void Leave(SessionId session, Handler handler) override {
    leases_.Leave(session, std::move(handler));
  }
  void Acquire(SessionId session, RangeId range, AcquireHandler handler) override {
    leases_.Acquire(session, range, std::move(handler));
  }
  void Release(SessionId session, RangeId range, Epoch epoch, Handler handler) override {
    leases_.Release(session, range, epoch, std::move(handler));
  }
  LeaseService::Watch WatchTable(LeaseService::TableHandler handler) override {
    return leases_.WatchTable(std::move(handler));
  }
  Registry* registry() override { return this; }

 private:
  void Change(RegistryChange change, ChangeHandler handler) override {
    forget_(change);
    const internal::Judged judged = records_.Change(change, ledger_, TimePoint());
    handler(judged.errc, judged.answer);
  }
  void Read(ReadHandler handler) override { handler({}, records_.Table(ledger_)); }
  LeaseService::Watch WatchRecords(Registry::TableHandler) override { return nullptr; }
  Result<std::unique_ptr<LeaseService>> OpenTable(std::string_view, Diagnostics*) override {
    return Errc::kBadUrl;
  }

  const Forget forget_;
  boost::asio::thread_pool pool_{1};
  InProcessLeases leases_{pool_.get_executor()};
  internal::LeaseLedger ledger_{1};
  internal::RegistryLedger records_;
};

}  // namespace

TEST_CASE("the suite notices a registry that does not compare the epoch", "[registry]") {
  Careless registry([](RegistryChange& change) { change.owned.reset(); });
  CHECK(CheckSuccessiveOwners(registry, registry) ==
        "an owner that has released the range changes its set");
}

TEST_CASE("the suite notices a registry that does not compare the revision", "[registry]") {
  Careless registry([](RegistryChange& change) {
    change.owned.reset();
    change.read.reset();
  });
  CHECK(CheckSuccessiveOwners(registry, registry) == "a set is changed that was not read");
}

TEST_CASE("the suite notices a registry that does not compare the session", "[registry]") {
  Careless registry([](RegistryChange& change) { change.session = 0; });
  CHECK(CheckEndedSession(registry) == "a session that has ended adds a datalet");
}

}  // namespace stout::test
