#include <boost/asio/buffer.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "load/command_line.h"
#include "load/request_writer.h"
#include "load/response_reader.h"
#include "tests/support/catch.h"

namespace stout::load {
namespace {

using namespace std::chrono_literals;

void Feed(ResponseReader& reader, std::string_view bytes) {
  reader.buffer().commit(
      boost::asio::buffer_copy(reader.buffer().prepare(bytes.size()), boost::asio::buffer(bytes)));
}

// Method: three pipelined answers, arriving in every possible pair of pieces.
TEST_CASE("pipelined answers are cut apart wherever the stream is cut", "[load]") {
  const std::string stream =
      "HTTP/1.1 204 No Content\r\nETag: \"1.2\"\r\n\r\n"
      "HTTP/1.1 200 OK\r\nETag: \"1.3\"\r\nContent-Length: 5\r\n\r\nhello"
      "HTTP/1.1 404 Not Found\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
      "2\r\n{}\r\n0\r\n\r\n";
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    CAPTURE(cut);
    ResponseReader reader;
    std::vector<std::string> seen;
    for (const std::string_view piece :
         {std::string_view(stream).substr(0, cut), std::string_view(stream).substr(cut)}) {
      Feed(reader, piece);
      boost::system::error_code error;
      while (const auto answer = reader.Next(error)) {
        seen.push_back(std::to_string(answer->status) + " " + std::string(answer->etag) + " " +
                       std::string(answer->body) + (answer->keep_alive ? "" : " close"));
      }
      REQUIRE_FALSE(error);
    }
    CHECK(seen == std::vector<std::string>{"204 \"1.2\" ", "200 \"1.3\" hello", "404  {} close"});
  }
}

TEST_CASE("a stream that is not HTTP is an error, and a reset begins anew", "[load]") {
  ResponseReader reader;
  boost::system::error_code error;
  Feed(reader, "SSH-2.0-OpenSSH_9.2\r\n\r\n");
  CHECK_FALSE(reader.Next(error));
  CHECK(error);
  reader.Reset();
  error = {};
  Feed(reader, "HTTP/1.1 204 No Content\r\n\r\n");
  CHECK(reader.Next(error).value().status == 204);
}

TEST_CASE("requests are whole and of the wanted size", "[load]") {
  RequestWriter writer({.documents = 10, .sections = 2}, "[::1]:80", "", 100);
  CHECK(writer.Get(5) == "GET /docs/load-00000002/sections/s1 HTTP/1.1\r\nHost: [::1]:80\r\n\r\n");
  CHECK(writer.GetMetrics() == "GET /metrics HTTP/1.1\r\nHost: [::1]:80\r\n\r\n");
  const std::string put(writer.Put({1, 5, 9}));
  const std::string head =
      "PUT /docs/load-00000002/sections/s1 HTTP/1.1\r\nHost: [::1]:80\r\nContent-Length: "
      "100\r\n\r\n";
  REQUIRE(put.starts_with(head));
  CHECK(ParseBody(std::string_view(put).substr(head.size())) == BodyTag{1, 5, 9});
  CHECK(put.size() == head.size() + 100);

  RequestWriter of_tenant({.documents = 10, .sections = 2}, "h:1", "shop", 100);
  CHECK(of_tenant.Get(5) ==
        "GET /docs/load-00000002/sections/s1 HTTP/1.1\r\nHost: h:1\r\nDocstore-Tenant: "
        "shop\r\n\r\n");
  CHECK(of_tenant.Put({1, 5, 9}).find("\r\nDocstore-Tenant: shop\r\nContent-Length: 100") !=
        std::string_view::npos);
}

Command Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "docstore-load");
  return ParseCommandLine(static_cast<int>(arguments.size()), arguments.data());
}

TEST_CASE("the command line fills the options", "[load]") {
  const Command command =
      Parse({"--target", "http://h:1", "--steps", "0s:5,2s:500,4s:5", "--documents", "7",
             "--distribution", "zipf:0.99", "--verify-file", "f", "--timeout", "250ms"});
  const LoadOptions& options = std::get<LoadOptions>(command);
  CHECK(options.target == program::Address{"h", 1});
  CHECK(options.label == "http://h:1");
  CHECK(options.steps.size() == 3);
  CHECK(options.duration == 6s);
  CHECK(options.corpus.documents == 7);
  CHECK(options.distribution.theta == 0.99);
  CHECK(options.timeout == 250ms);
  CHECK(options.verify);

  const LoadOptions defaults = std::get<LoadOptions>(Parse({"--target", "http://h:1"}));
  CHECK(defaults.steps == std::vector<Step>{{0s, 1000}});
  CHECK(defaults.duration == 10s);
  CHECK_FALSE(defaults.verify);
}

TEST_CASE("mistakes on the command line are refused", "[load]") {
  const std::vector<std::vector<const char*>> mistakes = {
      {},
      {"--target", "localhost"},
      {"--target", "http://h:1", "--value-bytes", "10"},
      {"--target", "http://h:1", "--rate", "0"},
      {"--target", "http://h:1", "--rate", "5", "--steps", "0s:5"},
      {"--target", "http://h:1", "--timeout", "0s"},
      {"--target", "http://h:1", "--duration", "0s"},
      {"--target", "http://h:1", "--timeout", "10"},
      {"--target", "http://h:1", "--documents", "0"},
      {"--target", "http://h:1", "--documents", "100000", "--sections", "100000"},
      {"--target", "http://h:1", "--read-fraction", "1.5"},
      {"--target", "http://h:1", "--steps", "0s:1,5s:2", "--duration", "5s"},
      {"--target", "http://h:1", "--verify-only"},
      {"--target", "http://h:1", "--no-such-flag"},
      {"report"},
  };
  for (std::size_t i = 0; i < mistakes.size(); ++i) {
    CAPTURE(i);
    const Command command = Parse(mistakes[i]);
    REQUIRE(std::holds_alternative<ExitCode>(command));
    CHECK(std::get<ExitCode>(command) == kBadOptions);
  }
}

}  // namespace
}  // namespace stout::load
