// How docstore-import turns files into documents, and how it gets them to the server.

#include <array>
#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <cstdlib>
#include <fstream>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "docstore_support.h"
#include "import/document_id.h"
#include "import/run_import.h"
#include "import/text_sections.h"
#include "import/uploader.h"
#include "protocol/id.h"
#include "scripted_http_server.h"
#include "stout/adapters/memory_store.h"
#include "tests/support/catch.h"

namespace stout::docstore {
namespace {

std::vector<std::string> Names(std::string_view text, const SectioningOptions& options = {}) {
  std::vector<std::string> names;
  for (const TextSection& section : CutIntoSections(text, options)) names.push_back(section.name);
  return names;
}

TEST_CASE("a section begins at each heading", "[docstore]") {
  CHECK(Names("# Getting started\nDo this.\n\n## What's next?\nThat.\n") ==
        std::vector<std::string>{"0001-getting-started", "0002-what-s-next"});
  CHECK(Names("Title\n=====\nText\n\nPart\n----\nMore\n") ==
        std::vector<std::string>{"0001-title", "0002-part"});
  CHECK(Names("PREAMBLE\n\nWe the people\n\n2.1 Scope\n\nAll of it.\n") ==
        std::vector<std::string>{"0001-preamble", "0002-2-1-scope"});
  // No heading: not alone on its line, or amid a paragraph.
  CHECK(Names("We are\nBOLD\nhere\n\n3 apples, and\nmore\n") ==
        std::vector<std::string>{"0001-we-are"});
}

TEST_CASE("paragraphs without headings are gathered into blocks", "[docstore]") {
  const std::string text = "one one\n\ntwo two\n\nthree three\n";
  CHECK(Names(text, {.block_bytes = 1}) ==
        std::vector<std::string>{"0001-one-one", "0002-two-two", "0003-three-three"});
  CHECK(Names(text, {.block_bytes = 12}) ==
        std::vector<std::string>{"0001-one-one", "0002-three-three"});
  CHECK(Names("\n \n\t\n").empty());
}

TEST_CASE("the sections of a text are the text", "[docstore]") {
  const std::string text = "# A\n\nfirst\n\nsecond\nthird\n\n## B\nlast, without a line feed";
  std::string joined;
  for (const auto& section : CutIntoSections(text, {.block_bytes = 4})) joined += section.text;
  CHECK(joined == text);
}

TEST_CASE("a paragraph beyond the limit is cut between characters", "[docstore]") {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "\xE2\x82\xAC";  // 3 bytes each
  const auto sections = CutIntoSections(text, {.block_bytes = 1, .max_bytes = 10});
  REQUIRE(sections.size() == 34);
  for (const TextSection& section : sections) {
    CHECK(section.text.size() <= 10);
    CHECK(IsText(section.text));
    CHECK(IsId(section.name));
  }
}

TEST_CASE("text is told from what is not", "[docstore]") {
  CHECK(IsText(""));
  CHECK(IsText("plain\r\n\ttext\f"));
  CHECK(IsText("\xE2\x82\xAC \xF0\x9F\x98\x80"));
  CHECK_FALSE(IsText(std::string_view("a\0b", 3)));
  CHECK_FALSE(IsText("\x7F\x45LF\x02\x01"));
  CHECK_FALSE(IsText("caf\xE9"));       // Latin-1
  CHECK_FALSE(IsText("cut \xE2\x82"));  // half a character
  for (const char* const overlong : {"\xC0\xAF", "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF"}) {
    CHECK_FALSE(IsText(overlong));
  }
  CHECK_FALSE(IsText("\xED\xA0\x80"));      // half of a surrogate pair
  CHECK_FALSE(IsText("\xF4\x90\x80\x80"));  // beyond the last character
  CHECK(IsText("\xE0\xA0\x80 \xED\x9F\xBF \xF0\x90\x80\x80 \xF4\x8F\xBF\xBF"));
}

TEST_CASE("documents are named after their files, each once", "[docstore]") {
  DocumentIds ids;
  CHECK(ids.Take("licenses/GPL 3") == "licenses.GPL_3");
  CHECK(ids.Take("licenses/GPL_3") == "licenses.GPL_3-2");
  CHECK(ids.Take("licenses.GPL 3") == "licenses.GPL_3-3");
  CHECK(ids.Take("/") == "document");
  const std::string deep = std::string(300, 'd') + "/readme.txt";
  const std::string id = ids.Take(deep);
  CHECK(IsId(id));
  CHECK(id.ends_with("ddd.readme.txt"));
  CHECK(DocumentIds().Take(deep) == id);
  CHECK(ids.Take("x" + deep) != id);
}

TEST_CASE("an upload survives push-back and arrives whole, in order", "[docstore]") {
  Runner runner;
  MemoryStore store(runner.context().get_executor());
  // A window larger than what the server lets in: some requests are told to come again.
  DocumentsOptions documents = TestServer::TwoShards();
  documents.shards = 1;
  documents.map.engine.lane.max_dirty_keys = 4;
  TestServer server(runner, store, documents);
  Uploader uploader({"127.0.0.1", static_cast<std::uint16_t>(server.port())}, {.window = 8});
  REQUIRE_FALSE(uploader.Connect());
  for (int i = 0; i < 16; ++i) {
    REQUIRE(uploader.Put({"d", "s" + std::to_string(i), "text " + std::to_string(i)}));
  }
  REQUIRE(uploader.Finish());
  CHECK(uploader.totals().done == 16);
  CHECK(uploader.totals().failed == 0);
  Client client(server.port());
  CHECK(client.Do("GET", "/docs/d/sections/s7").body == "text 7");
  CHECK(client.Do("GET", "/docs/d/sections/s15").body == "text 15");
}

TEST_CASE("a file that cannot be read does not end an import", "[docstore]") {
  Runner runner;
  MemoryStore store(runner.context().get_executor());
  TestServer server(runner, store, TestServer::TwoShards());
  const std::string target = "http://127.0.0.1:" + std::to_string(server.port());
  const std::vector<const char*> arguments = {"docstore-import", "--target", target.c_str(),
                                              "/proc/self/mem"};
  CHECK(RunImport(static_cast<int>(arguments.size()), arguments.data()) == EXIT_SUCCESS);
}

TEST_CASE("an upload that the server refuses counts as failed", "[docstore]") {
  Runner runner;
  MemoryStore store(runner.context().get_executor());
  TestServer server(runner, store, TestServer::TwoShards(), {.max_body_bytes = 8});
  Uploader uploader({"127.0.0.1", static_cast<std::uint16_t>(server.port())}, {});
  REQUIRE(uploader.Put({"d", "small", "1"}));
  REQUIRE(uploader.Put({"d", "large", "123456789"}));
  REQUIRE(uploader.Put({"d", "last", "2"}));  // after the 413 the server closes the connection
  REQUIRE(uploader.Finish());
  CHECK(uploader.totals().done == 2);
  CHECK(uploader.totals().failed == 1);
  CHECK(uploader.totals().last_failure.starts_with("d/large: 413"));
}

TEST_CASE("an upload to a server that never answers fails after its attempts", "[docstore]") {
  using Answer = std::optional<std::string>;
  const auto answer = GENERATE(Answer(), Answer("-ERR unknown command 'PUT'\r\n"));
  ScriptedHttpServer server([&](const auto&) { return answer; });
  Uploader uploader(*program::ParseAddress(server.address()), {.attempts = 3});
  REQUIRE_FALSE(uploader.Connect());
  REQUIRE(uploader.Put({"d", "s", "text"}));
  CHECK_FALSE(uploader.Finish());
  CHECK(uploader.totals().done == 0);
  CHECK(uploader.totals().failed == 1);
  CHECK(server.connections() == 3);
}

TEST_CASE("an upload hears the answer of a server that reads no further", "[docstore]") {
  using boost::asio::ip::tcp;
  boost::asio::io_context context;
  tcp::acceptor acceptor(context, {boost::asio::ip::address_v4::loopback(), 0});
  std::jthread server([&] {
    tcp::socket socket = acceptor.accept();
    std::array<char, 1> first{};
    socket.read_some(boost::asio::buffer(first));
    boost::asio::write(socket,
                       boost::asio::buffer(FormatAnswer(413, "no", "Connection: close\r\n")));
  });  // the close resets the connection, because bytes are unread
  Uploader uploader({"127.0.0.1", acceptor.local_endpoint().port()},
                    {.attempts = 2, .timeout = std::chrono::seconds(10)});
  REQUIRE_FALSE(uploader.Connect());
  CHECK(uploader.Put({"d", "s", std::string(std::size_t{64} << 20, 'x')}));
  CHECK(uploader.Finish());
  CHECK(uploader.totals().failed == 1);
  CHECK(uploader.totals().last_failure == "d/s: 413 no");
}

TEST_CASE("an upload through a router whose server died is repeated", "[docstore]") {
  std::atomic<int> requests = 0;
  ScriptedHttpServer server([&](const auto&) {
    return ++requests == 1 ? FormatAnswer(502, "lost", "Retry-After: 0\r\n") : FormatAnswer(204);
  });
  Uploader uploader(*program::ParseAddress(server.address()), {});
  REQUIRE_FALSE(uploader.Connect());
  REQUIRE(uploader.Put({"d", "s", "text"}));
  CHECK(uploader.Finish());
  CHECK(uploader.totals().done == 1);
  CHECK(uploader.totals().failed == 0);
}

TEST_CASE("a stopped upload waits for neither a lost nor a silent server", "[docstore]") {
  const bool silent = GENERATE(false, true);
  CAPTURE(silent);
  std::atomic<bool> stop = false;
  std::promise<void> release;
  ScriptedHttpServer server([&](const auto&) -> std::optional<std::string> {
    stop = true;
    if (silent) release.get_future().wait();
    return std::nullopt;
  });
  Uploader uploader(*program::ParseAddress(server.address()), {.attempts = 1000, .stop = &stop});
  REQUIRE(uploader.Put({"d", "s", "text"}));
  CHECK_FALSE(uploader.Finish());
  CHECK(uploader.totals().failed == 1);
  CHECK(server.connections() == 1);
  release.set_value();
}

}  // namespace
}  // namespace stout::docstore
