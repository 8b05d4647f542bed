// Tenants whose hot sets do not fit together.
#include "monitor/tenant_metrics.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/log_capture.h"

namespace stout::monitor {
namespace {

TenantSnapshot Tenant(std::string name, double alone, double in_fact,
                      std::string cache = "records") {
  return {.tenant = std::move(name),
          .cache = std::move(cache),
          .hit_rate_alone = alone,
          .hit_rate = in_fact,
          .active = true};
}

std::string Crowded(std::vector<TenantSnapshot> tenants) {
  MarkCrowded(tenants);
  std::string names;
  for (const TenantSnapshot& tenant : tenants) names += tenant.crowded ? tenant.tenant : "";
  return names;
}

TEST_CASE("tenants are crowded if their hot sets do not fit together", "[tenants]") {
  CHECK(Crowded({Tenant("a", .95, .8), Tenant("b", .95, .85)}) == "ab");
  CHECK(Crowded({Tenant("a", .95, .94), Tenant("b", .95, .7)}) == "b");
  CHECK(Crowded({Tenant("a", .95, .94), Tenant("b", .95, .93)}).empty());
  // Beside scans or uniform reads, admission is the remedy.
  CHECK(Crowded({Tenant("a", .95, .8), Tenant("b", .05, 0)}).empty());
  CHECK(Crowded({Tenant("a", .95, .8)}).empty());
  CHECK(Crowded({Tenant("a", .95, .8), Tenant("b", .95, .8, "store")}).empty());
}

TEST_CASE("tenants that are gone, or throttled by hand, crowd nobody", "[tenants]") {
  std::vector<TenantSnapshot> tenants = {Tenant("a", .95, .8), Tenant("b", .95, .85)};
  SECTION("gone") { tenants[1].active = false; }
  SECTION("by hand") {
    tenants[1].share = .1;
    tenants[1].reasons["by hand"] = 1;
  }
  CHECK(Crowded(tenants).empty());
}

TEST_CASE("figures of a tenant without a name are left out", "[tenants]") {
  std::vector<TenantSnapshot> all;
  AddTenants({{.hits = 1}, {.hits = 1}}, {"default"}, "store", all);
  CHECK(all.size() == 1);
}

TEST_CASE("the tenants of several caches are summed up by requests", "[tenants]") {
  const std::vector<std::string> names = {"default", "other", "a"};
  std::vector<TenantSnapshot> all;
  TenantStats stats{.hits = 30, .misses = 0, .bytes = 5, .share = 1, .hit_rate = 1};
  AddTenants({{}, {}, stats}, names, "records", all);
  stats.hits = 0;
  stats.misses = 10;
  stats.share = .2;
  stats.hit_rate = 0;
  AddTenants({{}, {}, stats}, names, "records", all);
  REQUIRE(all.size() == 1);
  CHECK(all[0].tenant == "a");
  CHECK(all[0].hits == 30);
  CHECK(all[0].misses == 10);
  CHECK(all[0].bytes == 10);
  CHECK(all[0].share == Approx(.8));
  CHECK(all[0].hit_rate == Approx(.75));
}

TEST_CASE("crowded tenants are logged once an hour", "[tenants]") {
  std::vector<TenantSnapshot> tenants = {Tenant("a", .95, .8), Tenant("b", .95, .85)};
  const test::LogCapture log;
  CrowdingLog crowding;
  crowding.Tell(tenants);
  CHECK(log.text().empty());
  MarkCrowded(tenants);
  crowding.Tell(tenants);
  crowding.Tell(tenants);
  const std::string text = log.text();
  CHECK(text.find("a (records: hits 80 %, alone 95 %), b (") != std::string::npos);
  CHECK(text.find("do not fit") == text.rfind("do not fit"));
}

}  // namespace
}  // namespace stout::monitor
