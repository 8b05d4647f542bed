// Negative controls: the contract suite notices a registry that compares too little.

#include <functional>
#include <utility>

#include "registry_test_support.h"
#include "stout/core/registry_ledger.h"
#include "stout/feed.h"

namespace stout::test {
namespace {

// Right leases, and a registry that forgets a comparison.
class Careless final : public LeasesAlone, private Registry {
 public:
  using Forget = std::function<void(RegistryChange&)>;

  explicit Careless(Forget forget) : forget_(std::move(forget)) {}

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
