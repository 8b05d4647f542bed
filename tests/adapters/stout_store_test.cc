// The store that a stout-node serves to others, its datalet: how it is met, what the node answers,
// and which faults of the datalet show. store_contract_test.cc tests the rest.

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hooked_store.h"
#include "node/datalet_commands.h"
#include "node/open_datalet.h"
#include "node/value_format.h"
#include "remote_store_fixture.h"
#include "resp/store/store_commands.h"
#include "scripted_resp_server.h"
#include "stout/adapters/datalet_keys.h"
#include "stout/adapters/memory_store.h"
#include "stout/tenants.h"
#include "tests/support/catch.h"
#include "tests/support/datalet_node.h"
#include "tests/support/process.h"
#include "tests/support/resp_client.h"
#include "tests/support/temp_directory.h"

namespace stout::test {
namespace {

using namespace std::chrono_literals;
using Catch::Contains;
using Catch::StartsWith;

const WriteResult kDurable{};

class ServedTest : public StoreOpener {
 protected:
  HookedStore datalet_{pool_.get_executor()};
  DataletNode node_{&datalet_};
};

std::vector<std::string> Pipeline(RespClient& client,
                                  const std::vector<std::vector<std::string>>& commands) {
  for (const auto& command : commands) client.Queue(command);
  std::vector<std::string> replies;
  while (replies.size() < commands.size()) replies.push_back(client.Receive());
  return replies;
}

}  // namespace

TEST_CASE_METHOD(ServedTest, "stout: the traits are those of the datalet, and a restart is a loss",
                 "[stout]") {
  datalet_.own_traits().max_batch_items = 77;
  const auto store = OpenUrl(node_.Url());
  const StoreTraits& traits = store->traits();
  CHECK(traits.name == "stout");
  CHECK(traits.atomic_batches);
  CHECK(traits.compares_stamps);
  CHECK(traits.fences);
  CHECK_FALSE(traits.durable);
  CHECK(traits.scans);
  CHECK(traits.ordered);
  CHECK(traits.detects_loss);
  CHECK(traits.partitions == 1);
  CHECK(traits.max_batch_items == 77);
  CHECK(traits.max_batch_bytes ==
        (std::size_t{64} << 20) + (std::size_t{64} << 10) + internal::kMaxTablePrefix);
}

TEST_CASE_METHOD(ServedTest, "stout: a datalet that is durable shows it", "[stout]") {
  datalet_.own_traits().durable = true;
  CHECK(OpenUrl(node_.Url())->traits().durable);
  RespClient client(node_.port());
  CHECK_THAT(client.Do({"STOUT.SHARDS"}),
             Contains("$durable, :1, $stamps, :1, $data-id, $durable]"));
}

TEST_CASE_METHOD(ServedTest, "stout: without detect_loss a restarted node goes on empty",
                 "[stout]") {
  auto datalet = std::make_unique<MemoryStore>(pool_.get_executor());
  auto node = std::make_unique<DataletNode>(datalet.get());
  const int port = node->port();
  const auto watched = OpenUrl(node->Url());
  const auto store = OpenUrl(node->Url({}, "detect_loss=false"));
  CHECK_FALSE(store->traits().detects_loss);
  CHECK(WriteNow(*store, Batch(1, {Put("k", "v", 1)})) == kDurable);
  node.reset();
  datalet = std::make_unique<MemoryStore>(pool_.get_executor());
  node = std::make_unique<DataletNode>(datalet.get(), port);
  CHECK(WriteAtLast(*store, Batch(1, {Put("l", "v", 2)})) == kDurable);
  CHECK_FALSE(ReadOne(*store, "k").found);
  CHECK(Eventually([&] { return ReadNow(*watched, {"k"}).errc == Errc::kLost; }));
}

TEST_CASE_METHOD(ServedTest, "stout: a node wants its password for the datalet, too", "[stout]") {
  const DataletNode node(&datalet_, 0, "s3cret");
  CHECK_THAT(WhyNot(node.Url()), Contains("NOAUTH"));
  CHECK_THAT(WhyNot(node.Url(":wrong@")), Contains("WRONGPASS"));
  const auto store = OpenUrl(node.Url(":s3cret@"));
  CHECK(WriteNow(*store, Batch(1, {Put("k", "v", 1)})) == kDurable);
  RespClient client(node.port());
  CHECK_THAT(client.Do({"STOUT.READ", "0", "k"}), Contains("NOAUTH"));
  CHECK_THAT(client.Do({"STOUT.SHARDS"}), Contains("NOAUTH"));
}

TEST_CASE_METHOD(ServedTest, "stout: a node without a datalet says so", "[stout]") {
  const DataletNode node(nullptr);
  CHECK_THAT(WhyNot(node.Url()), Contains("serves no datalet") && Contains("--datalet"));
  RespClient client(node.port());
  const std::vector<std::string> replies = Pipeline(client, {{"STOUT.SHARDS"},
                                                             {"STOUT.WRITE", "0", "s", "1"},
                                                             {"STOUT.READ", "0", "k"},
                                                             {"STOUT.STAMPS", "0", "k"},
                                                             {"STOUT.SCAN", "0", "1", "VALUES"},
                                                             {"STOUT.EPOCH"},
                                                             {"STOUT.FENCE", "s", "1"}});
  for (const std::string& reply : replies) {
    CHECK_THAT(reply, Contains("-ERR this node serves no datalet"));
  }
  CHECK(client.Do({"PING"}) == "+PONG");
}

TEST_CASE("stout: a datalet needs all that other nodes rely on", "[stout]") {
  boost::asio::thread_pool pool(1);
  const StoreTraits good = MemoryStore(pool.get_executor()).traits();
  CHECK(node::CanBeServed(good));
  for (bool StoreTraits::*const promise :
       {&StoreTraits::compares_stamps, &StoreTraits::fences, &StoreTraits::atomic_batches,
        &StoreTraits::scans, &StoreTraits::ordered, &StoreTraits::opaque_values}) {
    StoreTraits traits = good;
    traits.*promise = false;
    CHECK_FALSE(node::CanBeServed(traits));
  }
}

TEST_CASE_METHOD(ServedTest, "stout: a datalet that cannot be served is refused", "[stout]") {
  datalet_.own_traits().ordered = false;
  CHECK_THAT(WhyNot(node_.Url()), Contains("cannot be served"));
  CHECK_THAT(RespClient(node_.port()).Do({"STOUT.READ", "0", "k"}), Contains("cannot be served"));
}

TEST_CASE_METHOD(ServedTest, "stout: what is no node that serves a datalet is told so", "[stout]") {
  ScriptedRespServer server([](const ScriptedRespServer::Command&) {
    return ScriptedRespServer::Answer{"-ERR unknown command 'STOUT.SHARDS'\r\n"};
  });
  CHECK_THAT(WhyNot(fmt::format("stout://127.0.0.1:{}", server.port())),
             Contains("not a stout-node that serves a datalet") && Contains("redis://"));
  CHECK_THAT(WhyNot("stout://h,i"), Contains("a stout: URL names one") && Contains("stout://[["));
  CHECK_THAT(WhyNot("stout://127.0.0.1:1", Errc::kTransient),
             Contains("stout 127.0.0.1:1") && Contains("Connection refused"));
}

TEST_CASE_METHOD(ServedTest, "stout: a pipeline is answered in order, and sees its own writes",
                 "[stout]") {
  RespClient client(node_.port());
  CHECK(Pipeline(client, {{"STOUT.READ", "0", "k"},
                          {"STOUT.WRITE", "0", "s", "3", "PUT", "k", "1", "old"},
                          {"STOUT.WRITE", "0", "s", "3", "PUT", "k", "2", "new", "DEL", "l", "3"},
                          {"STOUT.READ", "0", "k", "l", "none"},
                          {"STOUT.STAMPS", "0", "k", "l", "none"},
                          {"PING"},
                          {"STOUT.SCAN", "0", "1", "STAMPS"},
                          {"STOUT.SCAN", "0", "9", "VALUES", "AFTER", "k"},
                          {"STOUT.FENCE", "s", "5"},
                          {"STOUT.WRITE", "0", "s", "4", "PUT", "k", "9", "late"},
                          {"STOUT.FENCE", "s", "4"},
                          {"stout.epoch"},
                          {"STOUT.READ", "0", "k"}}) ==
        std::vector<std::string>{
            "[:1, (nil)]", "[:0, +OK]", "[:0, +OK]", "[:3, [:3, :2, $new], [:3, :3, (nil)], (nil)]",
            "[:3, [:3, :2, $], [:3, :3, (nil)], (nil)]", "+PONG", "[:0, [:1, $k, [:3, :2, $]]]",
            "[:0, [:0, $l, [:3, :3, (nil)]]]", "[:0, +OK]", "[:0, +FENCED]", "[:0, +FENCED]",
            "[:0, :6]", "[:1, [:3, :2, $new]]"});
}

TEST_CASE_METHOD(ServedTest, "stout: commands of one kind are carried out side by side",
                 "[stout]") {
  RespClient client(node_.port());
  CHECK(client.Do({"STOUT.WRITE", "0", "s", "1", "PUT", "a", "1", "A", "PUT", "b", "2", "B"}) ==
        "[:0, +OK]");
  datalet_.together = 3;  // or none is answered
  CHECK(Pipeline(client, {{"STOUT.READ", "0", "a"},
                          {"STOUT.READ", "0", "b"},
                          {"STOUT.READ", "7", "b"},
                          {"STOUT.READ", "0", "c"},
                          {"PING"}}) ==
        std::vector<std::string>{"[:1, [:1, :1, $A]]", "[:1, [:1, :2, $B]]",
                                 "-ERR no such shard; they are numbered from 0 to 0", "[:1, (nil)]",
                                 "+PONG"});
}

TEST_CASE_METHOD(ServedTest, "stout: a malformed command changes nothing", "[stout]") {
  RespClient client(node_.port());
  const std::string most = std::to_string(resp::kMaxStamp + 1);
  const std::vector<std::vector<std::string>> commands = {
      {"STOUT.WRITE"},
      {"STOUT.WRITE", "0", "s"},
      {"STOUT.WRITE", "1", "s", "1", "PUT", "k", "1", "v"},
      {"STOUT.WRITE", "x", "s", "1", "PUT", "k", "1", "v"},
      {"STOUT.WRITE", "0", "s", "x", "PUT", "k", "1", "v"},
      {"STOUT.WRITE", "0", "s", "-1", "PUT", "k", "1", "v"},
      {"STOUT.WRITE", "0", "s", most, "PUT", "k", "1", "v"},
      {"STOUT.WRITE", "0", "s", "1", "PUT", "k", "1"},
      {"STOUT.WRITE", "0", "s", "1", "PUT", "k", "1", "v", "DEL", "l"},
      {"STOUT.WRITE", "0", "s", "1", "PUT", "k", most, "v"},
      {"STOUT.WRITE", "0", "s", "1", "SET", "k", "1", "v"},
      {"STOUT.WRITE", "0", "s", "1", "PUT", "k", "1", "v", "DEL", "k", "2"},
      {"STOUT.READ", "0"},
      {"STOUT.READ", "1", "k"},
      {"STOUT.STAMPS", "1", "k"},
      {"STOUT.SCAN", "0", "0", "VALUES"},
      {"STOUT.SCAN", "0", "1", "KEYS"},
      {"STOUT.SCAN", "0", "1", "VALUES", "AFTER"},
      {"STOUT.SCAN", "2", "1", "VALUES"},
      {"STOUT.EPOCH", "1"},
      {"STOUT.FENCE", "s", "-1"},
      {"STOUT.FENCE", "s", most},
      {"STOUT.SHARDS", "1"},
  };
  const std::vector<std::string> replies = Pipeline(client, commands);
  for (std::size_t i = 0; i < commands.size(); ++i) {
    CAPTURE(commands[i]);
    if (commands[i] == std::vector<std::string>{"STOUT.READ", "0"}) {
      CHECK(replies[i] == "[:0]");  // no key
    } else {
      CHECK_THAT(replies[i], Catch::StartsWith("-ERR "));
    }
  }
  CHECK(client.Do({"STOUT.SCAN", "0", "9", "VALUES"}) == "[:0, [:0]]");
  CHECK(client.Do({"MULTI"}) == "+OK");
  CHECK_THAT(client.Do({"STOUT.WRITE", "0", "s", "1", "PUT", "k", "1", "v"}),
             Contains("not allowed inside a transaction"));
  CHECK_THAT(client.Do({"EXEC"}), Contains("EXECABORT"));
  CHECK(client.Do({"STOUT.READ", "0", "k"}) == "[:1, (nil)]");
}

TEST_CASE_METHOD(ServedTest, "stout: the errors of the datalet are those of the store", "[stout]") {
  const auto store = OpenUrl(node_.Url());
  const WriteBatch batch = Batch(1, {Put("k", "v", 1)});
  using Errors = std::vector<Errc>;
  const auto errors = [&](Errc errc) {
    datalet_.errc = errc;
    return Errors{WriteNow(*store, batch).batch, ReadNow(*store, {"k"}).errc,
                  ScanNow(*store, {}).errc, static_cast<Errc>(AskEpochNow(*store).first.value()),
                  static_cast<Errc>(FenceNow(*store, "s", 1).value())};
  };
  CHECK(errors(Errc::kTransient) == Errors(5, Errc::kTransient));
  CHECK(errors(Errc::kLost) == Errors(5, Errc::kLost));
  CHECK(errors(Errc::kRefused) == Errors(5, Errc::kRefused));
  // Only a write may still happen.
  CHECK(errors(Errc::kUnknown) == Errors{Errc::kUnknown, Errc::kTransient, Errc::kTransient,
                                         Errc::kTransient, Errc::kTransient});
  CHECK(errors(Errc::kCorrupt)[1] == Errc::kCorrupt);
  CHECK(errors(Errc::kCorrupt)[2] == Errc::kCorrupt);
  CHECK(errors(Errc::kOk) == Errors(5, Errc::kOk));
  datalet_.state_errc = Errc::kCorrupt;
  CHECK(ReadNow(*store, {"k", "l"}) ==
        ReadResult{Errc::kOk, {Found("v", {1, 1}), StoredState{.errc = Errc::kCorrupt}}});
}

TEST_CASE_METHOD(ServedTest, "stout: a scan goes on over pages without keys", "[stout]") {
  const auto store = OpenUrl(node_.Url());
  CHECK(WriteNow(*store, Batch(1, {Put("k", "v", 1)})) == kDurable);
  datalet_.pages_without_keys = 3;
  CHECK(ScanNow(*store, {}) == ScanResult{Errc::kOk, {{"k", Found("v", {1, 1})}}, ""});
  CHECK(datalet_.scans == 4);
}

TEST_CASE_METHOD(ServedTest, "stout: a node takes the batches that it says it takes", "[stout]") {
  const bool tight = GENERATE(false, true);
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  const DataletNode node(&datalet_, 0, {}, [&](node::NodeService& service) {
    service.limits.commands.max_bulk = kMiB;
    if (tight) service.limits.commands.max_request = kMiB + 4096;
  });
  const auto store = OpenUrl(node.Url({}, "timeout=60s"));
  const StoreTraits& traits = store->traits();
  CHECK(traits.max_batch_bytes > kMiB);
  // The largest key and value of a client, in the table with the longest prefix.
  const std::string key = internal::TablePrefixOf("t18446744073709551615") + std::string(kMiB, 'k');
  CHECK(key.size() == kMiB + internal::kMaxTablePrefix);
  CHECK(ReadOne(*store, key) == StoredState());
  const std::string value(key.size(), 'v');
  CHECK(WriteNow(*store, Batch(1, {Put("k", value, 1)})) == kDurable);
  CHECK((ReadOne(*store, "k") == Found(value, {1, 1})));  // which is not to be printed
  CHECK((WriteNow(*store, Batch(1, {Put("k", value + "v", 2), Put("l", "v", 2)})) ==
         WriteResult{Errc::kOk, {{0, Errc::kTooLarge}}}));
  CHECK_THAT(RespClient(node.port()).Do({"SET", "k", std::string(kMiB + 1, 'v')}),
             Contains("has 1048577 bytes: at most 1048576, raise --max-value"));
  CHECK_THAT(RespClient(node.port()).Do({"SET", "k", value + "v"}),
             Contains("Protocol error: invalid bulk length: at most 1048576 bytes"));
  // The most items, with all the bytes that a batch may have, and the largest stamps.
  constexpr std::uint64_t most = resp::kMaxStamp;
  std::vector<WriteItem> items;
  std::size_t left = traits.max_batch_bytes;
  for (std::size_t i = 0; i < traits.max_batch_items; ++i) {
    std::string key = std::to_string(i);
    if (left < key.size()) break;
    const std::size_t size = std::min((left - key.size()) / 2, kMiB);
    left -= key.size() + size;
    items.push_back(Put(std::move(key), std::string(size, 'v'), most));
  }
  CHECK((WriteNow(*store, Batch(most, items)) == kDurable));
  CHECK(ReadOne(*store, "0").found);
  CHECK_THAT(RespClient(node.port()).Do({"STOUT.EPOCH"}), StartsWith("-REFUSED all epochs"));
}

TEST_CASE_METHOD(ServedTest, "stout: a read larger than --max-replies is answered in parts",
                 "[stout]") {
  const DataletNode node(&datalet_, 0, {},
                         [](node::NodeService& service) { service.limits.max_replies = 1000; });
  const auto store = OpenUrl(node.Url());
  const std::string value(600, 'v');
  CHECK(WriteNow(*store, Batch(1, {Put("k", value, 1), Put("l", value, 2)})) == kDurable);
  const ReadResult read = ReadNow(*store, {"k", "absent", "l"});
  CHECK(read.states == std::vector<StoredState>{Found(value, {1, 1}), {}, Found(value, {1, 2})});
  CHECK_THAT(RespClient(node.port()).Do({"STOUT.READ", "0", "k", "l"}), Contains("TRANSIENT"));
  const std::string large(1000, 'v');  // fits no reply
  CHECK(WriteNow(*store, Batch(1, {Put("m", large, 3)})) == kDurable);
  CHECK(ReadNow(*store, {"m"}).errc == Errc::kTransient);
}

TEST_CASE_METHOD(ServedTest, "stout: a node opens the datalet of another by password and TLS",
                 "[stout]") {
  const TempDirectory files;
  RunToEnd({"sh", "-c",
            fmt::format("cd {} && openssl req -x509 -subj /CN=node -days 2 -out cert.pem -keyout "
                        "key.pem -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -addext "
                        "subjectAltName=IP:127.0.0.1",
                        files.path())});
  const auto serve_tls = [&](node::NodeService& service) {
    service.tls = {.certificate = files.path() + "/cert.pem",
                   .key = files.path() + "/key.pem",
                   .authorities = files.path() + "/cert.pem",
                   .host = "127.0.0.1"};
  };
  const DataletNode node(&datalet_, 0, "s3cret", serve_tls);
  DataletNode self(nullptr, 0, "s3cret", serve_tls);
  const auto open = [&](DataletNode& opener, const std::string& url) {
    Diagnostics why;
    auto store = node::OpenDatalet(url, opener.service(), pool_.get_executor(), &why);
    return std::pair(store ? *std::move(store) : nullptr, why.message);
  };
  const auto [store, why] = open(self, node.Url());
  INFO(why);
  REQUIRE(store);
  CHECK(WriteNow(*store, Batch(1, {Put("k", std::string(100'000, 'v'), 1)})) == kDurable);
  CHECK(ReadOne(*store, "k").value.size() == 100'000);
  // It is the certificate of another host.
  CHECK_THAT(open(self, fmt::format("stout://localhost:{}", node.port())).second,
             Contains("certificate"));
  DataletNode plain(nullptr, 0, "s3cret");
  CHECK(open(plain, node.Url({}, "connect_timeout=5s")).first == nullptr);
  DataletNode stranger(nullptr, 0, "other", serve_tls);
  CHECK_THAT(open(stranger, node.Url()).second, Contains("WRONGPASS"));
  CHECK(open(stranger, node.Url(":s3cret@")).first != nullptr);
  CHECK(open(stranger, "memory:").first != nullptr);
  CHECK_THAT(open(stranger, "nowhere:").second, Contains("stout://"));
}

TEST_CASE_METHOD(ServedTest, "stout: a node learns for which tenants it reads", "[stout]") {
  const auto store = OpenUrl(node_.Url());
  const auto read = [&](std::vector<std::string> keys, std::vector<TenantId> tenants) {
    const ReadBatch batch{.keys = std::move(keys), .tenants = std::move(tenants)};
    const ReadResult result = store->AsyncRead(batch, boost::asio::use_future).get();
    REQUIRE(result.errc == Errc::kOk);
    REQUIRE(result.states.size() == batch.keys.size());
  };
  const auto tenants = std::make_shared<Tenants>();
  (void)tenants->IdOf("before");  // numbers differ between the processes, names do not
  const TenantId shop = tenants->IdOf("shop");
  const TenantId reports = tenants->IdOf("reports");
  const auto at_node = [&](const char* name) { return node_.service().tenants->IdOf(name); };
  read({"a", "b"}, {0, shop});  // nobody has said which tenants there are
  CHECK(datalet_.asked() == std::map<std::string, TenantId>{{"a", 0}, {"b", 0}});
  store->Obey(tenants);
  read({"a", "b"}, {});
  read({"a", "b", "c", "d"}, {0, shop, reports, shop});
  CHECK(datalet_.asked() ==
        std::map<std::string, TenantId>{
            {"a", 0}, {"b", at_node("shop")}, {"c", at_node("reports")}, {"d", at_node("shop")}});
  read({"b", "c"}, {});  // a connection does not keep the tenant of the read before
  read({"e"}, {});
  CHECK(datalet_.asked().at("b") == 0);
  CHECK(datalet_.asked().at("c") == 0);
  CHECK(datalet_.asked().at("e") == 0);
}

}  // namespace stout::test
