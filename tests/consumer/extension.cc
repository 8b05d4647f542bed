// A policy and a store as users write them, with public names alone.
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <iostream>
#include <map>
#include <string>
#include <utility>

#include "stout/core/policy.h"
#include "stout/store.h"
#include "stout/write_back_map.h"

namespace mine {

/// Waits 1 ms between batches, or 10 ms if the store is in trouble.
struct Steps {
  stout::Decision decision;

  [[nodiscard]] stout::Decision Start() const { return decision; }
  [[nodiscard]] stout::Decision Observe(const stout::BatchSample& sample) {
    decision.interval = std::chrono::milliseconds(sample.errc == stout::Errc::kOk ? 1 : 10);
    return decision;
  }
  [[nodiscard]] std::string Name() const { return "steps"; }
};

/// Keeps everything in a map, and answers at once.
class MapStore final : public stout::Store {
 public:
  [[nodiscard]] const stout::StoreTraits& traits() const override { return traits_; }
  void Write(const stout::WriteBatch& batch, WriteHandler handler) override {
    for (const stout::WriteItem& item : batch.items) {
      if (item.kind == stout::WriteKind::kPut) {
        states[item.key] = item.value;
      } else {
        states.erase(item.key);
      }
    }
    handler({});
  }
  void Read(const stout::ReadBatch& batch, ReadHandler handler) override {
    stout::ReadResult result;
    for (const std::string& key : batch.keys) {
      const auto found = states.find(key);
      stout::StoredState state;
      state.found = found != states.end();
      if (state.found) state.value = found->second;
      result.states.push_back(std::move(state));
    }
    handler(std::move(result));
  }
  void NewEpoch(EpochHandler handler) override { handler({}, ++epoch_); }

  std::map<std::string, std::string> states;

 private:
  stout::StoreTraits traits_{.name = "map"};
  stout::Epoch epoch_ = 0;
};

}  // namespace mine

int main() {
  boost::asio::io_context io;
  mine::MapStore store;
  stout::WriteBackMapOptions options;
  options.engine.lane.write_policy = mine::Steps{};
  stout::WriteBackMap map(io.get_executor(), store, options);

  stout::ErrorCode fate = stout::Errc::kUnknown;
  map.AsyncOpen([&](stout::ErrorCode opened) {
    if (opened || !map.Put("key", "value")) return;
    map.AsyncSafeReply({"key"}, [&](stout::ErrorCode ec) {
      fate = ec;
      std::cout << map.interposer().Stats().lanes[0].policy << ": " << ec.message() << '\n';
    });
  });
  io.run();
  return fate || store.states["key"] != "value" ? 1 : 0;
}
