#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node/expiry_sweep.h"
#include "node/node_service.h"
#include "node/value_format.h"
#include "stout/adapters/memory_store.h"
#include "stout/forwarding_store.h"
#include "stout/write_back_map.h"
#include "tests/support/catch.h"
#include "tests/support/plain_options.h"

// stout-node without its sockets, under a clock that the test sets, over a store in memory.

namespace stout::node {

namespace asio = boost::asio;

using Words = std::vector<std::string>;

inline constexpr std::int64_t kStart = 1'700'000'000'000;

// As test::RespClient shows a reply of RESP2. Takes it from the front of `replies`.
inline std::string Shown(std::string_view& replies) {
  const auto end = replies.find("\r\n");
  const std::string_view line = replies.substr(0, end);
  replies.remove_prefix(end + 2);
  if (line == "$-1" || line == "*-1") return "(nil)";
  if (line.front() != '$' && line.front() != '*') return std::string(line);
  const std::size_t size = std::stoul(std::string(line.substr(1)));
  if (line.front() == '$') {
    const std::string text = "$" + std::string(replies.substr(0, size));
    replies.remove_prefix(size + 2);
    return text;
  }
  std::string array = "[";
  for (std::size_t i = 0; i < size; ++i) array += (i == 0 ? "" : ", ") + Shown(replies);
  return array + "]";
}

// A store that the test counts scans of, and acts between a scan and its answer.
class ProbedStore final : public ForwardingStore {
 public:
  explicit ProbedStore(const asio::any_io_executor& executor)
      : ForwardingStore(inner_), inner_(executor), traits_(inner_.traits()) {}

  [[nodiscard]] const StoreTraits& traits() const override { return traits_; }
  void Write(const WriteBatch& batch, WriteHandler handler) override {
    if (!write_hangs) inner_.Write(batch, std::move(handler));
  }
  void Scan(const ScanRequest& request, ScanHandler handler) override {
    ++scans;
    if (scan_fails || failures-- > 0) return handler({Errc::kTransient, {}, {}});
    inner_.Scan(request, [this, handler = std::move(handler)](ScanResult page) mutable {
      if (after_scan) std::exchange(after_scan, {})();
      handler(std::move(page));
    });
  }
  // The bytes that are stored, or "(none)".
  std::string Stored(const std::string& key) {
    std::string value;
    const ReadBatch batch{.keys = {key}};
    inner_.Read(batch, [&](const ReadResult& result) {
      value = result.states.front().found ? result.states.front().value : "(none)";
    });
    return value;
  }
  void TakeNoExpiry() { traits_.opaque_values = false; }

  int scans = 0;
  bool scan_fails = false;
  bool write_hangs = false;
  int failures = 0;  // of the next scans
  std::function<void()> after_scan;

 private:
  MemoryStore inner_;
  StoreTraits traits_;
};

// A node without its sockets. `shared`, `cluster`: of a node among others, if it is one.
struct TimedNode {
  explicit TimedNode(asio::io_context& runs, ProbedStore& store, std::int64_t& now, Epoch epoch,
                     const EngineOptions& engine = Plain(), Ranges* shared = nullptr,
                     Cluster* cluster = nullptr)
      : context(runs),
        map(context.get_executor(), store, {.engine = engine}),
        ranges(map, [] {}),
        service(shared != nullptr ? *shared : ranges, store, cluster, ""),
        node_store(store) {
    map.interposer().OpenWithEpoch(epoch);
    service.main.deadlines.now = [&now] { return now; };
  }

  void Await(asio::awaitable<void> work) {
    bool done = false;
    const auto on_end = [&done](const std::exception_ptr& error) {
      CHECK(!error);
      done = true;
    };
    asio::co_spawn(map.get_executor(), std::move(work), on_end);
    while (!done) {
      context.restart();
      context.run_one();
    }
  }
  void Close() {
    asio::post(map.get_executor(), [this] { map.interposer().Close(); });
    context.restart();
    context.poll();
  }
  // Until its deletes are durable, too.
  void SweepNow() {
    Await(Sweep(ranges, node_store, service.main.deadlines, Duration::zero()));
    context.restart();
    context.poll();
  }

  asio::io_context& context;
  WriteBackMap map;
  OneRange ranges;
  NodeService service;
  ProbedStore& node_store;
};

struct Connection {
  explicit Connection(TimedNode& server) : node(server), batch(node.service.MakeBatch(session)) {
    session.authenticated = true;
  }
  // The replies to commands that are carried out together.
  std::vector<std::string> Pipeline(const std::vector<Words>& commands) {
    std::vector<std::vector<std::string_view>> views;
    for (const Words& words : commands) views.emplace_back(words.begin(), words.end());
    std::string out;
    for (const auto& words : views) {
      if (batch->Add(words) && &words != &views.back()) continue;
      node.Await(batch->Run(out));
      batch->Clear();
    }
    std::vector<std::string> replies;
    std::string_view left = out;
    for (std::size_t i = 0; i < commands.size(); ++i) replies.push_back(Shown(left));
    CHECK(left.empty());
    return replies;
  }
  std::string Do(const Words& words) { return Pipeline({words}).front(); }

  TimedNode& node;
  resp::Session session;
  std::unique_ptr<resp::Batch> batch;
};

struct TimedWorld {
  asio::io_context context;
  std::int64_t now = kStart;
  ProbedStore store{context.get_executor()};
  TimedNode node{context, store, now, 1};
  Connection client{node};
  std::string Do(const Words& words) { return client.Do(words); }
};

inline std::string Dated(std::string_view value, std::int64_t deadline) {
  return EncodeValue(std::string(value), deadline);
}

inline std::string At(std::int64_t milliseconds) { return std::to_string(kStart + milliseconds); }

}  // namespace stout::node
