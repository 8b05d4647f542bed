// Requests that change several keys, of which the store takes only some: what is deleted stays
// deleted, and no answer says that nothing was done if something was.

#include <algorithm>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "docstore_support.h"
#include "stout/adapters/faulty_store.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"

namespace stout::docstore {
namespace {

using test::Eventually;

// A service over a store that refuses one key, and that the test can shut.
class RefusingService {
 public:
  explicit RefusingService(const DocumentsOptions& documents = OneShard())
      : faulty_(runner_.context().get_executor(),
                std::make_unique<MemoryStore>(runner_.context().get_executor()), Refusal()),
        gate(faulty_),
        server(runner_, gate, documents) {}
  ~RefusingService() { gate.Open(); }

  // An empty key: no key is refused any more.
  void Refuse(std::string key) {
    const std::lock_guard lock(mutex_);
    refused_ = std::move(key);
  }

 private:
  FaultyOptions Refusal() {
    FaultyOptions faults;
    faults.refuse = [this](KeyView key) {
      const std::lock_guard lock(mutex_);
      return key == refused_;
    };
    return faults;
  }

  std::mutex mutex_;
  std::string refused_;
  Runner runner_;
  FaultyStore faulty_;

 public:
  GateStore gate;
  TestServer server;
};

DocumentsOptions WithRoomFor(std::size_t dirty_keys) {
  DocumentsOptions documents = OneShard();
  documents.map.engine.lane.max_dirty_keys = dirty_keys;
  return documents;
}

TEST_CASE("what the store refuses is told to those who asked for it", "[docstore]") {
  RefusingService service;
  service.Refuse("d/s/bad");
  Client client(service.server.port());
  CHECK(client.Do("PUT", "/docs/d/sections/good", "x").status == 201);
  CHECK(client.Do("PUT", "/docs/d/sections/bad", "x").status == 507);
  CHECK(client.Do("GET", "/docs/d/sections/bad").status == 404);
  CHECK(client.Do("GET", "/docs/d/sections/good").status == 200);
  // The name stays, and can be deleted, although the store refuses to delete the state.
  CHECK(client.Do("GET", "/docs/d").body ==
        "{\"document\":\"d\",\"sections\":[\"good\",\"bad\"]}\n");
  CHECK(client.Do("DELETE", "/docs/d/sections/bad").status == 504);
  CHECK(client.Do("GET", "/docs/d").body == "{\"document\":\"d\",\"sections\":[\"good\"]}\n");
}

TEST_CASE("a deleted section stays deleted when the store refuses to delete its state",
          "[docstore]") {
  const std::string deleted = GENERATE("/docs/d", "/docs/d/sections/s");
  CAPTURE(deleted);
  RefusingService service;
  Client client(service.server.port());
  const std::string path = "/docs/d/sections/s";
  REQUIRE(client.Do("PUT", path, "old").status == 201);
  service.Refuse("d/s/s");
  CHECK(client.Do("DELETE", deleted).status == 504);
  CHECK(client.Do("GET", path).status == 404);
  // The manifest names the section again, but the new state is refused.
  CHECK(client.Do("PUT", path, "new").status == 507);
  CHECK(client.Do("GET", path).status == 404);
  CHECK(client.Do("PUT", path, "new", {{"If-Match", "*"}}).status == 412);
  {
    Runner runner;
    TestServer successor(runner, service.gate);  // remembers nothing
    Client reader(successor.port());
    CHECK(reader.Do("GET", path).status == 404);
    service.Refuse("");
    CHECK(reader.Do("PUT", path, "new").status == 201);
    CHECK(reader.Do("GET", path).body == "new");
  }
}

TEST_CASE("the deletion of a document waits for the states of its sections", "[docstore]") {
  DocumentsOptions documents = OneShard();
  documents.map.engine.lane.max_batch_items = 1;
  RefusingService service(documents);
  Client client(service.server.port());
  for (const char* const section : {"a", "s"}) {
    REQUIRE(client.Do("PUT", std::string("/docs/d/sections/") + section, "x").status == 201);
  }
  service.gate.Shut("d/s/s");
  client.Send(Format("DELETE", "/docs/d"));
  REQUIRE(Eventually([&] { return service.gate.held() == 1; }));
  // The list of the sections is gone for good, but not yet their states.
  CHECK(Client(service.server.port()).Do("GET", "/docs/d").status == 404);
  CHECK(client.Silent());
  service.gate.Open();
  CHECK(client.Receive().status == 204);
}

TEST_CASE("a change that took effect is not answered as refused", "[docstore]") {
  RefusingService service;
  Client creator(service.server.port());
  Client writer(service.server.port());
  REQUIRE(writer.Do("PUT", "/docs/d/sections/s", "old").status == 201);
  service.gate.Shut();
  creator.Send(Format("PUT", "/docs/d/sections/t", "x"));
  AwaitReplies(service.server, 1);
  writer.Send(Format("PUT", "/docs/d/sections/s", "new"));  // its answer reveals the manifest
  AwaitReplies(service.server, 2);
  service.Refuse("d/m");
  service.gate.Open();
  CHECK(creator.Receive().status == 507);
  CHECK(creator.Do("GET", "/docs/d/sections/t").status == 404);
  CHECK(writer.Receive().status == 504);
  CHECK(writer.Do("GET", "/docs/d/sections/s").body == "new");
}

TEST_CASE("a change that is answered as refused has left the section as it was", "[docstore]") {
  RefusingService service;
  Client client(service.server.port());
  const std::string path = "/docs/d/sections/s";
  REQUIRE(client.Do("PUT", path, "old").status == 201);
  service.Refuse("d/s/s");
  CHECK(client.Do("PUT", path, "new").status == 507);
  CHECK(client.Do("GET", path).body == "old");
  service.Refuse("d/m");
  CHECK(client.Do("PUT", "/docs/d/sections/t", "x").status == 507);
  CHECK(client.Do("GET", "/docs/d").body == "{\"document\":\"d\",\"sections\":[\"s\"]}\n");
  // The store keeps the names, but not the state.
  const std::string deleted = GENERATE("/docs/d", "/docs/d/sections/s");
  CHECK(client.Do("DELETE", deleted).status == 504);
  CHECK(client.Do("GET", path).status == 404);
}

TEST_CASE("a document with more sections than may be dirty is deleted in steps", "[docstore]") {
  RefusingService service(WithRoomFor(3));
  Client client(service.server.port());
  for (const char* const section : {"a", "b", "c", "d", "e"}) {
    REQUIRE(client.Do("PUT", std::string("/docs/d/sections/") + section, "x").status == 201);
  }
  CHECK(client.Do("DELETE", "/docs/d").status == 504);
  CHECK(client.Do("GET", "/docs/d").body ==
        "{\"document\":\"d\",\"sections\":[\"c\",\"d\",\"e\"]}\n");
  CHECK(client.Do("GET", "/docs/d/sections/b").status == 404);
  CHECK(client.Do("GET", "/docs/d/sections/c").status == 200);
  CHECK(Eventually([&] { return client.Do("DELETE", "/docs/d").status == 204; }));
  CHECK(client.Do("GET", "/docs/d").status == 404);
}

TEST_CASE("a change that is pushed back in part is pushed back whole", "[docstore]") {
  RefusingService service(WithRoomFor(3));
  Client client(service.server.port());
  Client other(service.server.port());
  REQUIRE(client.Do("PUT", "/docs/b/sections/s", "kept").status == 201);
  service.gate.Shut();
  other.Send(Format("PUT", "/docs/a/sections/s", "x"));  // a section and a manifest
  AwaitReplies(service.server, 1);
  // There is room for a manifest, and none for a section.
  const std::string deleted = GENERATE("/docs/b", "/docs/b/sections/s");
  CAPTURE(deleted);
  CHECK(client.Do("DELETE", deleted).status == 503);
  service.gate.Open();
  CHECK(other.Receive().status == 201);
  CHECK(client.Do("GET", "/docs/b/sections/s").body == "kept");
  CHECK(client.Do("DELETE", deleted).status == 204);
}

TEST_CASE("a change without room for its answer is not made", "[docstore]") {
  DocumentsOptions documents = OneShard();
  documents.map.engine.max_replies = 1;
  RefusingService service(documents);
  Client client(service.server.port());
  Client other(service.server.port());
  REQUIRE(client.Do("PUT", "/docs/b/sections/s", "kept").status == 201);
  service.gate.Shut();
  other.Send(Format("PUT", "/docs/a/sections/s", "x"));
  AwaitReplies(service.server, 1);
  CHECK(client.Do("PUT", "/docs/b/sections/s", "new").status == 503);
  CHECK(client.Do("PUT", "/docs/b/sections/t", "new").status == 503);
  CHECK(client.Do("DELETE", "/docs/b/sections/s").status == 503);
  CHECK(client.Do("DELETE", "/docs/b").status == 503);
  service.gate.Open();
  CHECK(other.Receive().status == 201);
  CHECK(client.Do("GET", "/docs/b/sections/s").body == "kept");
  CHECK(client.Do("GET", "/docs/b/sections/t").status == 404);
}

TEST_CASE("a state that was pushed back is not seen when its section is created later",
          "[docstore]") {
  RefusingService service(WithRoomFor(3));
  Client client(service.server.port());
  Client other(service.server.port());
  service.gate.Shut();
  other.Send(Format("PUT", "/docs/a/sections/s", "x"));
  AwaitReplies(service.server, 1);
  // There is room for the section, and none for its manifest.
  CHECK(client.Do("PUT", "/docs/b/sections/s", "pushed back").status == 503);
  service.gate.Open();
  CHECK(other.Receive().status == 201);
  CHECK(client.Do("GET", "/docs/b/sections/s").status == 404);
  // Nothing would ever delete the state from the store.
  REQUIRE(client.Do("PUT", "/docs/c/sections/s", "x").status == 201);
  std::promise<bool> found;
  service.gate.Read({.keys = {"b/s/s"}},
                    [&](ReadResult result) { found.set_value(result.states.at(0).found); });
  CHECK_FALSE(found.get_future().get());
  service.Refuse("b/s/s");
  CHECK(client.Do("PUT", "/docs/b/sections/s", "refused").status == 507);
  CHECK(client.Do("GET", "/docs/b/sections/s").status == 404);
}

// A store that cannot read one key. Holds the results of all reads until it is opened.
class DamagedStore final : public ForwardingStore {
 public:
  DamagedStore(Store& store, std::string damaged)
      : ForwardingStore(store), damaged_(std::move(damaged)) {}

  void Read(const ReadBatch& batch, ReadHandler handler) override {
    ForwardingStore::Read(
        batch, [this, keys = batch.keys, handler = std::move(handler)](ReadResult result) mutable {
          for (std::size_t i = 0; i < keys.size(); ++i) {
            if (keys[i] == damaged_) result.states.at(i) = {.errc = Errc::kCorrupt};
          }
          {
            const std::lock_guard lock(mutex_);
            asked_.insert(asked_.end(), keys.begin(), keys.end());
            if (!open_) {
              held_.emplace_back(std::move(handler), std::move(result));
              return;
            }
          }
          handler(std::move(result));
        });
  }
  void Open() {
    std::deque<std::pair<ReadHandler, ReadResult>> held;
    {
      const std::lock_guard lock(mutex_);
      open_ = true;
      held.swap(held_);
    }
    for (auto& [handler, result] : held) handler(std::move(result));
  }
  [[nodiscard]] bool WasAskedFor(const std::string& key) const {
    const std::lock_guard lock(mutex_);
    return std::find(asked_.begin(), asked_.end(), key) != asked_.end();
  }

 private:
  const std::string damaged_;
  mutable std::mutex mutex_;
  bool open_ = false;
  std::vector<std::string> asked_;
  std::deque<std::pair<ReadHandler, ReadResult>> held_;
};

TEST_CASE("a damaged section fails no request for another section", "[docstore]") {
  Runner runner;
  MemoryStore memory(runner.context().get_executor());
  {
    Runner earlier;
    TestServer server(earlier, memory, OneShard());
    Client client(server.port());
    REQUIRE(client.Do("PUT", "/docs/d/sections/bad", "x").status == 201);
    REQUIRE(client.Do("PUT", "/docs/d/sections/good", "y").status == 201);
  }
  DamagedStore store(memory, "d/s/bad");
  TestServer server(runner, store, OneShard());
  Client client(server.port());
  client.Send(Format("GET", "/docs/d/sections/bad") + Format("GET", "/docs/d/sections/good"));
  REQUIRE(Eventually([&] { return store.WasAskedFor("d/s/good"); }));  // and it waits
  store.Open();
  CHECK(client.Receive().status == 500);
  CHECK(client.Receive().body == "y");
}

}  // namespace
}  // namespace stout::docstore
