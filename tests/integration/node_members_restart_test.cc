// Members that come back with older data, which nobody saw. Method: real nodes and a Redis for
// each, which has on its disk what it had at its last SAVE. All nodes are killed meanwhile.
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/member_nodes.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/redis_server.h"

namespace stout::test {
namespace {

using namespace std::chrono_literals;

const std::vector<std::string> kSnapshots = {"--appendonly", "no"};
constexpr char kWatched[] = "timeout=1s&connect_timeout=1s&detect_loss=true";

TEST_CASE("a member with older data does not count, although its loss was not seen",
          "[node][members][not_tsan]") {
  const bool both = GENERATE(false, true);
  CAPTURE(both);
  RedisServer first(kSnapshots);
  RedisServer second(kSnapshots);
  MemberNodes nodes({.datalets = {first.Url(kWatched), second.Url(kWatched)}});
  const auto ask = [&](const std::vector<std::string>& command) {
    return MemberNodes::Ask(nodes.program(0).port(), command);
  };
  constexpr int kKeys = 40;  // in many ranges, and each range reads where it likes
  const auto set = [&](const std::string& value) {
    for (int k = 0; k < kKeys; ++k) CHECK(ask({"SET", "k" + std::to_string(k), value}) == "+OK");
    std::this_thread::sleep_for(500ms);  // marks must cover it: then one member alone is read
  };
  const auto all_are = [&](const std::string& value) {
    for (int k = 0; k < kKeys; ++k) {
      const std::string reply = ask({"GET", "k" + std::to_string(k)});
      if (reply != "$" + value) return false;
    }
    return true;
  };
  set("old");
  CHECK(second.Execute({"SAVE"}) == "OK");
  if (both) CHECK(first.Execute({"SAVE"}) == "OK");
  set("new");
  for (std::size_t node = 0; node < nodes.size(); ++node) nodes.program(node).Kill();
  second.Kill();
  second.Start();
  if (both) {
    first.Kill();
    first.Start();
  }
  for (std::size_t node = 0; node < nodes.size(); ++node) nodes.program(node).Start();
  CHECK(Eventually([&] { return ask({"PING"}) == "+PONG"; }));
  CHECK(Eventually([&] { return ask({"GET", "k0"}).starts_with('$'); }));
  CHECK(nodes.AwaitMembers());
  CHECK(all_are(both ? "old" : "new"));
  CHECK(nodes.Fault().empty());
  CHECK(ask({"DBSIZE"}) == ":" + std::to_string(kKeys));  // members that were filled prove it
  set("newer");
  CHECK(all_are("newer"));
}

}  // namespace
}  // namespace stout::test
