#include "blowfish/index/abandonable.h"

#include <chrono>
#include <future>
#include <memory>
#include <stop_token>
#include <thread>
#include <utility>

#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

// Work that goes on until it is let go, and tells that it has begun, and that it is gone.
struct Stubborn {
  ~Stubborn() { gone.set_value(); }
  void operator()() {
    begun.set_value();
    go.wait();
    done = true;
  }

  std::promise<void> begun;
  std::shared_future<void> go;
  std::promise<void> gone;
  bool done = false;
};

TEST_CASE("work that ends is waited for", "[abandonable]") {
  std::promise<void> go;
  go.set_value();
  const auto work = std::make_shared<Stubborn>();
  work->go = go.get_future().share();
  const std::stop_source stop;
  CHECK(RunAbandonably(work, stop.get_token()));
  CHECK(work->done);
}

TEST_CASE("work that does not end is abandoned, and keeps what it needs", "[abandonable]") {
  std::promise<void> go;
  auto work = std::make_shared<Stubborn>();
  work->go = go.get_future().share();
  std::future<void> begun = work->begun.get_future();
  std::future<void> gone = work->gone.get_future();
  bool ended = true;
  std::jthread caller([&ended, work = std::move(work)](const std::stop_token& stop) mutable {
    ended = RunAbandonably(std::move(work), stop);
  });
  begun.wait();
  caller.request_stop();
  caller.join();  // Though the work goes on.
  CHECK_FALSE(ended);
  CHECK(gone.wait_for(std::chrono::seconds(0)) == std::future_status::timeout);
  go.set_value();
  gone.wait();
}

}  // namespace
}  // namespace stout::blowfish
