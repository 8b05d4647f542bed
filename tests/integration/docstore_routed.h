#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "docstore_fleet.h"
#include "docstore_support.h"
#include "router/router.h"
#include "scripted_http_server.h"
#include "stout/in_process_leases.h"
#include "tests/support/catch.h"

namespace stout::docstore {

inline const std::string kSection = "/docs/d/sections/s";

// A router in a deployment of one range, whose owner the test chooses.
class Routed {
 public:
  explicit Routed(const RouterOptions& options = Brisk(), int threads = 2)
      : runner_(threads),
        leases_(runner_.context().get_executor()),
        router_(std::make_unique<Router>(runner_.context(), leases_, options)),
        port_(router_->Listen("127.0.0.1", 0).value()) {}
  ~Routed() {
    router_->Close();
    runner_.Stop();
  }

  // Moves the range from its owner to this address.
  void MoveTo(const std::string& address) {
    MoveToNobody();
    leases_.Join({.address = address, .ranges = 1, .ttl = std::chrono::hours(1)},
                 [&](ErrorCode, SessionId session) { owner_ = session; });
    leases_.Acquire(owner_, 0, [](ErrorCode, std::optional<Epoch> epoch) { REQUIRE(epoch); });
    REQUIRE(Eventually([&] { return Stats().find(address) != std::string::npos; }));
  }
  void MoveToNobody() {
    leases_.Leave(std::exchange(owner_, 0), [](ErrorCode) {});
    REQUIRE(Eventually([&] { return Stats().find("owner\":") == std::string::npos; }));
  }

  // A server without ranges joins, as the one of this number.
  void Add(int number) {
    leases_.Join({.address = "10.0.0.7:" + std::to_string(number),
                  .ranges = 1,
                  .ttl = std::chrono::hours(1)},
                 [](ErrorCode, SessionId) {});
    const std::string members = "docstore_router_members " + std::to_string(number);
    REQUIRE(Eventually([&] { return Counts(members); }));
  }

  [[nodiscard]] Client Connect() const { return Client(port_); }
  [[nodiscard]] Router& router() { return *router_; }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string Stats() const { return Connect().Do("GET", "/stats").body; }
  [[nodiscard]] bool Counts(const std::string& figure) const {
    return Connect().Do("GET", "/metrics").body.find(figure + "\n") != std::string::npos;
  }

  // Tests do not wait as long as operators.
  [[nodiscard]] static RouterOptions Brisk() {
    RouterOptions options;
    options.retry_timeout = std::chrono::seconds(5);
    options.last_word = std::chrono::milliseconds(20);
    return options;
  }

 private:
  Runner runner_;
  InProcessLeases leases_;
  std::unique_ptr<Router> router_;
  std::uint16_t port_;
  SessionId owner_ = 0;
};

inline ScriptedHttpServer::Script Always(std::string answer) {
  return [answer = std::move(answer)](const auto&) { return answer; };
}

inline std::string Unserved(int status) {
  return FormatAnswer(status, "{}", "Docstore-Unserved-Range: 0\r\nRetry-After: 1\r\n");
}

}  // namespace stout::docstore
