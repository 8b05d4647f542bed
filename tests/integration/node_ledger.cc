#include "tests/integration/node_ledger.h"

#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "stout/core/random.h"
#include "tests/support/eventually.h"
#include "tests/support/resp_client.h"

namespace stout::test {
namespace {

constexpr std::size_t kKeysOfWriter = 33;
constexpr std::size_t kPipeline = 8;
constexpr std::size_t kMaxViolations = 20;

// Runs `step` on a connection until `stop`. Connects again if the server is gone.
void Repeat(int port, const std::atomic<bool>& stop, const std::function<void(RespClient&)>& step) {
  while (!stop) {
    try {
      RespClient client(port);
      while (!stop) step(client);
    } catch (const std::runtime_error&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));  // until the server is back
    }
  }
}

}  // namespace

NodeLedger::NodeLedger() {
  for (std::size_t i = 0; i < kWriters * kKeysOfWriter; ++i)
    keys_.emplace_back().name = fmt::format("{}-{}", i / kKeysOfWriter, i % kKeysOfWriter);
}

void NodeLedger::Write(std::size_t writer, int port, const std::atomic<bool>& stop) {
  const std::size_t first = writer * kKeysOfWriter;
  Key& counter = keys_[first + kKeysOfWriter - 1];
  std::size_t next = 0;
  Repeat(port, stop, [&](RespClient& client) {
    std::vector<std::pair<Key*, std::int64_t>> under_way;
    for (std::size_t i = 0; i < kPipeline; ++i) {
      Key& key = keys_[first + next++ % (kKeysOfWriter - 1)];
      under_way.emplace_back(&key, ++key.sent);
      client.Queue({"SET", key.name, std::to_string(under_way.back().second)});
    }
    // Last: it may have to wait for a read, and so must no SET whose client has gone.
    const std::int64_t least = counter.known + 1;
    ++counter.sent;
    client.Queue({"INCR", counter.name});
    for (const auto& [key, number] : under_way) {
      const std::string reply = client.Receive();
      if (reply == "+OK") {
        Reveal(*key, number, 0);
        ++acknowledged_;
      } else if (!reply.starts_with("-ERR not ")) {
        Report(fmt::format("SET {} {}: {}", key->name, number, reply));
      }
    }
    const std::string reply = client.Receive();
    if (reply.starts_with(':')) {
      Reveal(counter, std::stoll(reply.substr(1)), least);
      ++acknowledged_;
    } else if (!reply.starts_with("-ERR not ")) {
      Report(fmt::format("INCR {}: {}", counter.name, reply));
    }
  });
}

void NodeLedger::Read(std::uint64_t seed, int port, const std::atomic<bool>& stop) {
  SplitMix64 random(seed);
  Repeat(port, stop, [&](RespClient& client) {
    Key& key = keys_[random.Below(keys_.size())];
    const std::int64_t least = key.known;
    CheckRead(key, least, client.Do({"GET", key.name}));
  });
}

void NodeLedger::ReadAll(int port) {
  for (Key& key : keys_) {
    std::string reply;
    const bool answered = Eventually([&] {
      try {
        reply = RespClient(port).Do({"GET", key.name});
        return !reply.starts_with('-');
      } catch (const std::runtime_error&) {
        return false;
      }
    });
    if (!answered) return Report(fmt::format("GET {} cannot be read: {}", key.name, reply));
    CheckRead(key, key.known, reply);
  }
}

std::vector<std::string> NodeLedger::violations() const {
  const std::lock_guard lock(mutex_);
  return violations_;
}

// A client has learned that `number` is durable, and that the number was at least `least`.
void NodeLedger::Reveal(Key& key, std::int64_t number, std::int64_t least) {
  if (number < least || number > key.sent)
    Report(fmt::format("{} is {}, not in [{}, {}]", key.name, number, least, key.sent.load()));
  std::int64_t known = key.known;
  while (known < number && !key.known.compare_exchange_weak(known, number)) {
  }
}

void NodeLedger::CheckRead(Key& key, std::int64_t least, const std::string& reply) {
  if (reply.starts_with("-ERR not ")) return;
  if (reply != "(nil)" && !reply.starts_with('$'))
    return Report(fmt::format("GET {}: {}", key.name, reply));
  Reveal(key, reply == "(nil)" ? 0 : std::stoll(reply.substr(1)), least);
}

void NodeLedger::Report(std::string violation) {
  const std::lock_guard lock(mutex_);
  if (violations_.size() < kMaxViolations) violations_.push_back(std::move(violation));
}

}  // namespace stout::test
