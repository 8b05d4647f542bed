#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "stout/interposer.h"
#include "tests/support/catch.h"
#include "tests/support/plain_options.h"
#include "tests/support/scripted_store.h"

namespace stout {

/// A server of one thread, the test's own: nothing happens but inside Turn() and RunUntil().
class World {
 public:
  using Log = std::vector<std::string>;

  explicit World(EngineOptions options = Plain(), LaneId partitions = 1)
      : store(partitions), interposer(Make(std::move(options))) {}

  /// An interposer over `store` whose application is this world.
  std::unique_ptr<Interposer> Make(EngineOptions options) {
    if (options.seed == 0) options.seed = 1;
    return std::make_unique<Interposer>(
        context.get_executor(), store,
        Application{.serialize =
                        [this](KeyView key, std::string& out) {
                          ++serialized;
                          const auto found = state.find(key);
                          if (found == state.end()) return Serialized::kAbsent;
                          if (found->second == "throw")
                            throw std::runtime_error("cannot be written");
                          out = found->second;
                          return Serialized::kValue;
                        },
                    .on_refused =
                        [this](KeyView key, ErrorCode ec) {
                          log.push_back("refused " + std::string(key) + ": " + Name(ec));
                          if (on_refused) on_refused();
                        },
                    .on_fenced =
                        [this](LaneId lane) {
                          log.push_back("fenced " + std::to_string(lane));
                          if (on_fenced) on_fenced();
                        },
                    .on_lost = [this] { log.push_back("lost"); }},
        std::move(options));
  }

  void Open() {
    On([this] { interposer->OpenWithEpoch(1); });
  }

  /// Runs `call` on the strand and whatever follows without waiting for time or store.
  template <typename Call>
  void On(Call call) {
    boost::asio::post(interposer->get_executor(), std::move(call));
    Turn();
  }

  void Turn() {
    context.restart();
    context.poll();
  }

  /// Runs until something that takes time has happened.
  template <typename Predicate>
  void RunUntil(Predicate happened) {
    context.restart();
    while (!happened()) REQUIRE(context.run_one() == 1);
  }

  void Set(const std::string& key, const std::string& value) {
    On([=, this] {
      state[key] = value;
      REQUIRE(interposer->MarkDirty(key, value.size()));
    });
  }

  /// A reply that logs its name and fate.
  Interposer::Reply Logged(std::string name) {
    return [this, name = std::move(name)](ErrorCode ec) { log.push_back(name + ": " + Name(ec)); };
  }
  void Reply(const std::string& name, std::vector<KeyView> keys) {
    On([=, this] { interposer->SafeReply(keys, Logged(name)); });
  }

  static std::string Name(ErrorCode ec) { return ec ? ec.message() : "ok"; }
  static std::string Name(Errc errc) { return Name(ErrorCode(errc)); }
  static std::string Entry(const std::string& name, Errc errc) { return name + ": " + Name(errc); }

  boost::asio::io_context context{1};
  ScriptedStore store;
  std::map<std::string, std::string, std::less<>> state;
  int serialized = 0;
  std::function<void()> on_refused;
  std::function<void()> on_fenced;
  Log log;
  std::unique_ptr<Interposer> interposer;
};

/// Options under which nothing happens by itself for a long time.
inline EngineOptions Patient() {
  EngineOptions options = Plain();
  options.reply_deadline = options.lane.attempt_timeout = std::chrono::hours(1);
  return options;
}

/// Options under which failed attempts are repeated at once.
inline EngineOptions Hasty() {
  EngineOptions options = Patient();
  options.lane.retry_first = options.lane.retry_cap = std::chrono::microseconds(1);
  return options;
}

inline std::ostream& operator<<(std::ostream& out, const Stamp& stamp) {
  return out << stamp.epoch << '/' << stamp.version;
}

inline std::ostream& operator<<(std::ostream& out, const WriteItem& item) {
  return out << (item.kind == WriteKind::kPut ? "put " : "delete ") << item.key << '=' << item.value
             << '@' << item.version;
}

}  // namespace stout
