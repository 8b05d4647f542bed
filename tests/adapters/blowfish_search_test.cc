// Searches of the store on a blowfish-server, also through the stores that wrap one.

#include <algorithm>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "remote_store_fixture.h"
#include "scripted_resp_server.h"
#include "stout/adapters/faulty_store.h"
#include "stout/adapters/key_prefix_store.h"
#include "tests/support/blowfish_server.h"
#include "tests/support/catch.h"

namespace stout::test {
namespace {

using Keys = std::vector<std::string>;
using Match = SearchRequest::Match;

SearchResult SearchNow(Store& store, const SearchRequest& request) {
  std::promise<SearchResult> promise;
  std::future<SearchResult> result = promise.get_future();
  store.Search(request, [promise = std::move(promise)](SearchResult r) mutable {
    promise.set_value(std::move(r));
  });
  SearchResult found = result.get();
  std::ranges::sort(found.keys);
  return found;
}

TEST_CASE_METHOD(StoreOpener, "blowfish: a search finds keys by their values") {
  const BlowfishServer server(3, {"--attributes", "name,city"});
  const std::shared_ptr<Store> store = OpenUrl(server.Url());
  CHECK(store->traits().schema == Schema::Make({"name", "city"}, '|').value());
  const WriteBatch batch =
      Batch(1, {Put("a", "ann|rome", 1), Put("b", "bob|romford", 2), Put("p!c", "rome|oslo", 3)});
  REQUIRE(WriteNow(*store, batch) == WriteResult());
  CHECK(SearchNow(*store, {.text = "rome"}).keys == Keys{"a", "p!c"});
  SearchRequest city{.match = Match::kEquals, .attribute = "city", .text = "rome"};
  CHECK(SearchNow(*store, city).keys == Keys{"a"});
  city.match = Match::kBegins;
  city.text = "rom";
  CHECK(SearchNow(*store, city) == SearchResult{Errc::kOk, {"a", "b"}, false});

  SECTION("up to a limit") {
    city.limit = 2;
    CHECK(SearchNow(*store, city).more);  // there may be
    city.limit = 1;
    CHECK(SearchNow(*store, city).keys.size() == 1);
    city.limit = 0;
    CHECK(SearchNow(*store, city).errc == Errc::kRefused);
  }
  SECTION("not by an attribute that they have not") {
    city.attribute = "town";
    CHECK(SearchNow(*store, city).errc == Errc::kRefused);
  }
  SECTION("in a part of the store") {
    KeyPrefixStore part(store, "p!");
    CHECK(SearchNow(part, {.text = "rome"}).keys == Keys{"c"});
  }
  SECTION("through a store with faults") {
    FaultyStore faulty(pool_.get_executor(), OpenUrl(server.Url()));
    CHECK(SearchNow(faulty, {.text = "rome"}).keys == Keys{"a", "p!c"});
  }
}

TEST_CASE_METHOD(StoreOpener, "blowfish: a search that the server cannot answer") {
  using Answer = ScriptedRespServer::Answer;
  std::string answer = "*1\r\n:1\r\n";
  ScriptedRespServer server([&](const ScriptedRespServer::Command& command) -> Answer {
    if (command[0] == "STOUT.SHARDS")
      return {
          "*8\r\n+version\r\n:1\r\n+shards\r\n:1\r\n+max-batch-items\r\n:9\r\n"
          "+max-batch-bytes\r\n:9999\r\n"};
    if (command[0] == "SCHEMA")
      return {"*4\r\n$9\r\ndelimiter\r\n$1\r\n|\r\n$10\r\nattributes\r\n*1\r\n$1\r\na\r\n"};
    return {answer};
  });
  const auto store = OpenUrl("blowfish://127.0.0.1:" + std::to_string(server.port()));
  CHECK(SearchNow(*store, {.text = "x"}).errc == Errc::kTransient);  // malformed
  answer = "-ERR the replies are larger than --max-replies\r\n";
  CHECK(SearchNow(*store, {.text = "x"}).errc == Errc::kTooLarge);
  answer = "-OOM too many keys\r\n";
  CHECK(SearchNow(*store, {.text = "x"}).errc == Errc::kTransient);
  answer = "-SHARDDOWN shard 1\r\n";
  CHECK(SearchNow(*store, {.text = "x"}).errc == Errc::kCorrupt);
  answer = "*0\r\n";
  CHECK(SearchNow(*store, {.text = "x"}) == SearchResult());
}

TEST_CASE_METHOD(StoreOpener, "blowfish: a server must answer the question about its attributes") {
  std::string answer;
  const ScriptedRespServer server([&](const ScriptedRespServer::Command& command) {
    constexpr const char* kFacts =
        "*8\r\n+version\r\n:1\r\n+shards\r\n:1\r\n+max-batch-items\r\n:9\r\n"
        "+max-batch-bytes\r\n:9999\r\n";
    return ScriptedRespServer::Answer{command[0] == "SCHEMA" ? answer : kFacts};
  });
  const std::string url = "blowfish://127.0.0.1:" + std::to_string(server.port());
  answer = "*0\r\n";
  CHECK_THAT(WhyNot(url), Catch::Contains("its answer to SCHEMA is malformed"));
  answer = "-LOADING the log\r\n";
  CHECK(WhyNot(url, Errc::kTransient).find("LOADING") != std::string::npos);
  answer = "-ERR unknown command 'SCHEMA'\r\n";
  CHECK_FALSE(OpenUrl(url)->traits().schema);
}

TEST_CASE_METHOD(StoreOpener, "a store that cannot search refuses to") {
  const auto store = OpenUrl("memory:");
  CHECK_FALSE(store->traits().schema);
  CHECK(SearchNow(*store, {.text = ""}).errc == Errc::kRefused);
}

}  // namespace
}  // namespace stout::test
