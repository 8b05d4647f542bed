// When a server that reads from memory notices that another one has taken its scope over.

#include "server/scope_proof.h"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/scripted_store.h"

namespace stout::docstore {
namespace {

using namespace std::chrono_literals;
using Clock = ScopeProof::Clock;

constexpr Epoch kEpoch = 5;

// A proof over a store that the test answers for.
struct ProofWorld {
  explicit ProofWorld(Duration max_age = 1h, Duration patience = 1h)
      : proof(std::make_shared<ScopeProof>(context.get_executor(), max_age, patience, 2)) {}
  ~ProofWorld() {
    proof->Stop();
    Turn();
  }

  void Start() {
    proof->Start(store, "all", kEpoch, [this] { ++lost; });
    Turn();
  }
  void OnDone(Clock::time_point sent, ErrorCode ec) { proof->OnDone(kEpoch, sent, ec); }
  void Await(Clock::time_point read) {
    proof->AsyncAwait(
        read, boost::asio::bind_executor(context, [this](ErrorCode ec) { ended.push_back(ec); }));
    Turn();
  }
  void Turn() {
    context.restart();
    context.poll();
  }

  boost::asio::io_context context;
  ScriptedStore store;
  std::shared_ptr<ScopeProof> proof;
  std::vector<ErrorCode> ended;
  int lost = 0;
};

TEST_CASE("a proof covers answers that are at most max_age newer", "[docstore][scope]") {
  ProofWorld world;
  world.Start();
  const auto sent = Clock::now();
  CHECK_FALSE(world.proof->Covers(sent));
  world.OnDone(sent, {});
  CHECK(world.proof->Covers(sent + 1h));
  CHECK_FALSE(world.proof->Covers(sent + 1h + 1ns));
  world.OnDone(sent - 1h, {});  // an older call that ends later takes nothing back
  CHECK(world.proof->Covers(sent + 1h));
  world.OnDone(sent + 1s, Errc::kUnknown);
  CHECK_FALSE(world.proof->Covers(sent + 1h + 1ns));
}

TEST_CASE("an answer that is not covered waits for the next proof", "[docstore][scope]") {
  ProofWorld world;
  world.Start();
  const auto read = Clock::now() + 2h;
  world.Await(read);
  world.OnDone(read - 1h - 1ns, {});
  world.Turn();
  CHECK(world.ended.empty());
  world.OnDone(read - 1h, {});
  world.Turn();
  CHECK(world.ended == std::vector<ErrorCode>{ErrorCode()});
  world.Await(read);
  CHECK(world.ended.size() == 2);
}

TEST_CASE("a fence that another server has passed ends all answers, once", "[docstore][scope]") {
  ProofWorld world;
  world.Start();
  REQUIRE(world.store.fences.size() == 1);
  CHECK(world.store.fences[0].scope == "all");
  CHECK(world.store.fences[0].epoch == kEpoch);
  world.Await(Clock::now());
  CHECK(world.ended.empty());
  world.store.fences[0].handler(Errc::kFenced);
  world.OnDone(Clock::now(), Errc::kFenced);
  world.Turn();
  CHECK(world.ended == std::vector<ErrorCode>{Errc::kFenced});
  CHECK(world.lost == 1);
  world.Await(Clock::now());
  CHECK(world.ended.back() == Errc::kFenced);
}

// The attempts to open have epochs of their own, and the last of them fenced the others.
TEST_CASE("an answer to an earlier attempt to open proves nothing", "[docstore][scope]") {
  ProofWorld world;
  world.Start();
  const auto sent = Clock::now();
  world.Await(sent);
  world.proof->OnDone(kEpoch - 1, sent, Errc::kFenced);
  world.proof->OnDone(kEpoch - 1, sent, {});
  world.Turn();
  CHECK(world.lost == 0);
  CHECK(world.ended.empty());
  CHECK_FALSE(world.proof->Covers(sent));
}

TEST_CASE("beyond max_waiters an answer does not wait", "[docstore][scope]") {
  ProofWorld world;
  world.Start();
  const auto read = Clock::now();
  for (int i = 0; i < 3; ++i) world.Await(read);
  CHECK(world.ended == std::vector<ErrorCode>{Errc::kPushedBack});
  world.OnDone(read, {});
  world.Turn();
  CHECK(world.ended == std::vector<ErrorCode>{Errc::kPushedBack, ErrorCode(), ErrorCode()});
}

TEST_CASE("without a write the fence is repeated", "[docstore][scope]") {
  ProofWorld world(4ms);
  world.Start();
  while (world.store.fences.size() < 3) {
    world.store.fences.back().handler({});
    world.context.restart();
    world.context.run_for(1ms);
  }
  CHECK(world.lost == 0);
}

TEST_CASE("an answer ends when the store proves nothing or the server stops", "[docstore][scope]") {
  ProofWorld world(4ms, 1ms);
  world.Start();
  world.Await(Clock::now());
  while (world.ended.empty()) {
    world.context.restart();
    world.context.run_for(1ms);
  }
  CHECK(world.ended == std::vector<ErrorCode>{Errc::kUnknown});
  world.proof->Stop();
  world.Await(Clock::now());
  CHECK(world.ended.back() == Errc::kClosed);
}

}  // namespace
}  // namespace stout::docstore
