// The document service over real sockets: what each request is told, and what bad clients can do.

#include <memory>
#include <string>

#include "docstore_support.h"
#include "http_corpus.h"
#include "stout/adapters/memory_store.h"
#include "tests/support/catch.h"

namespace stout::docstore {
namespace {

using namespace std::chrono_literals;

class Service {
 public:
  explicit Service(const DocumentsOptions& documents = TestServer::TwoShards(),
                   const http::HttpOptions& http = {})
      : store_(runner_.context().get_executor()), server_(runner_, store_, documents, http) {}

  [[nodiscard]] Client Connect() const { return Client(server_.port()); }
  [[nodiscard]] std::uint16_t port() const { return server_.port(); }

 private:
  Runner runner_;
  MemoryStore store_;
  TestServer server_;
};

bool IsExplained(const Reply& reply) {
  return reply.Field("content-type") == "application/json" &&
         reply.body.find("{\"error\":\"") == 0 &&
         reply.body.find("\"remedy\":\"") != std::string::npos;
}

TEST_CASE("a section is created, read, replaced and deleted", "[docstore]") {
  const Service service;
  Client client = service.Connect();
  const Reply created = client.Do("PUT", "/docs/d/sections/s", "one");
  CHECK(created.status == 201);
  const std::string first = created.Field("etag");
  CHECK_FALSE(first.empty());

  Reply read = client.Do("GET", "/docs/d/sections/s");
  CHECK(read.status == 200);
  CHECK(read.body == "one");
  CHECK(read.Field("etag") == first);
  CHECK(read.Field("content-type") == "application/octet-stream");
  CHECK_FALSE(read.Field("date").empty());

  const Reply replaced = client.Do("PUT", "/docs/d/sections/s", "two");
  CHECK(replaced.status == 204);
  CHECK(replaced.Field("etag") != first);
  CHECK(client.Do("GET", "/docs/d/sections/s").body == "two");

  CHECK(client.Do("DELETE", "/docs/d/sections/s").status == 204);
  CHECK(client.Do("GET", "/docs/d/sections/s").status == 404);
  CHECK(client.Do("DELETE", "/docs/d/sections/s").status == 404);
  // Its last section gone, the document is gone.
  CHECK(client.Do("GET", "/docs/d").status == 404);
}

TEST_CASE("a body may be empty and may hold any bytes", "[docstore]") {
  const Service service;
  Client client = service.Connect();
  CHECK(client.Do("PUT", "/docs/d/sections/empty").status == 201);
  const Reply empty = client.Do("GET", "/docs/d/sections/empty");
  CHECK(empty.status == 200);
  CHECK(empty.body.empty());
  std::string bytes(256, '\0');
  for (int i = 0; i < 256; ++i) bytes[static_cast<std::size_t>(i)] = static_cast<char>(i);
  CHECK(client.Do("PUT", "/docs/d/sections/bytes", bytes).status == 201);
  CHECK(client.Do("GET", "/docs/d/sections/bytes").body == bytes);
  // In chunks, too.
  client.Send(
      "PUT /docs/d/sections/chunks HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n"
      "\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  CHECK(client.Receive().status == 201);
  CHECK(client.Do("GET", "/docs/d/sections/chunks").body == "abcde");
}

TEST_CASE("a document lists its sections and goes with all of them", "[docstore]") {
  const Service service;
  Client client = service.Connect();
  CHECK(client.Do("GET", "/docs/d").status == 404);
  for (const char* section : {"b", "a", "c"}) {
    CHECK(client.Do("PUT", std::string("/docs/d/sections/") + section, "x").status == 201);
  }
  const Reply listed = client.Do("GET", "/docs/d");
  CHECK(listed.status == 200);
  CHECK(listed.body == "{\"document\":\"d\",\"sections\":[\"b\",\"a\",\"c\"]}\n");
  CHECK(client.Do("GET", "/docs/d", "", {{"If-None-Match", listed.Field("etag")}}).status == 304);
  CHECK(client.Do("DELETE", "/docs/d/sections/a").status == 204);
  CHECK(client.Do("DELETE", "/docs/d", "", {{"If-Match", listed.Field("etag")}}).status == 412);
  CHECK(client.Do("DELETE", "/docs/d").status == 204);
  CHECK(client.Do("DELETE", "/docs/d").status == 404);
  CHECK(client.Do("GET", "/docs/d/sections/b").status == 404);
  // A section that comes back is new, and does not bring back its old neighbours.
  CHECK(client.Do("PUT", "/docs/d/sections/c", "y").status == 201);
  CHECK(client.Do("GET", "/docs/d").body == "{\"document\":\"d\",\"sections\":[\"c\"]}\n");
  CHECK(client.Do("GET", "/docs/d/sections/b").status == 404);
}

TEST_CASE("preconditions decide", "[docstore]") {
  const Service service;
  Client client = service.Connect();
  const std::string path = "/docs/d/sections/s";
  CHECK(client.Do("PUT", path, "x", {{"If-Match", "*"}}).status == 412);
  const Reply created = client.Do("PUT", path, "x", {{"If-None-Match", "*"}});
  CHECK(created.status == 201);
  const std::string first = created.Field("etag");
  const Reply taken = client.Do("PUT", path, "y", {{"If-None-Match", "*"}});
  CHECK(taken.status == 412);
  CHECK(taken.Field("etag") == first);
  CHECK(IsExplained(taken));
  const Reply second = client.Do("PUT", path, "y", {{"If-Match", first}});
  CHECK(second.status == 204);
  CHECK(client.Do("PUT", path, "z", {{"If-Match", first}}).status == 412);
  CHECK(client.Do("DELETE", path, "", {{"If-Match", first}}).status == 412);
  const Reply same = client.Do("GET", path, "", {{"If-None-Match", second.Field("etag")}});
  CHECK(same.status == 304);
  CHECK(same.body.empty());
  CHECK(same.Field("etag") == second.Field("etag"));
  CHECK(client.Do("GET", path, "", {{"If-None-Match", first}}).body == "y");
  // Several fields of one name are one list.
  CHECK(client.Do("PUT", path, "z", {{"If-Match", first}, {"If-Match", second.Field("etag")}})
            .status == 204);
}

TEST_CASE("HEAD is GET without the body", "[docstore]") {
  const Service service;
  Client client = service.Connect();
  CHECK(client.Do("PUT", "/docs/d/sections/s", "four").status == 201);
  const Reply head = client.Do("HEAD", "/docs/d/sections/s");
  CHECK(head.status == 200);
  CHECK(head.Field("content-length") == "4");
  CHECK(client.Do("HEAD", "/docs/d").status == 200);
  CHECK(client.Do("HEAD", "/docs/none").status == 404);
  CHECK(client.Do("GET", "/docs/d/sections/s").body == "four");
}

TEST_CASE("requests that nobody can serve are explained", "[docstore]") {
  const Service service;
  Client client = service.Connect();
  const auto check = [&](const char* method, const std::string& target, int status) {
    CAPTURE(method, target);
    const Reply reply = client.Do(method, target);
    CHECK(reply.status == status);
    CHECK(IsExplained(reply));
    return reply;
  };
  check("GET", "/nowhere", 404);
  check("GET", "/docs/a%20b", 400);
  check("PUT", "/docs/d/sections/" + std::string(129, 'x'), 400);
  CHECK(check("POST", "/docs/d/sections/s", 405).Field("allow") == "GET, HEAD, PUT, DELETE");
  CHECK(check("PUT", "/docs/d", 405).Field("allow") == "GET, HEAD, DELETE");
  CHECK(check("BREW", "/healthz", 405).Field("allow") == "GET, HEAD");
  CHECK(client.Do("GET", "/healthz").status == 200);  // on the same connection
}

TEST_CASE("a document has a bounded number of sections", "[docstore]") {
  DocumentsOptions documents = TestServer::TwoShards();
  documents.max_sections = 2;
  const Service service(documents);
  Client client = service.Connect();
  CHECK(client.Do("PUT", "/docs/d/sections/a", "1").status == 201);
  CHECK(client.Do("PUT", "/docs/d/sections/b", "1").status == 201);
  const Reply third = client.Do("PUT", "/docs/d/sections/c", "1");
  CHECK(third.status == 507);
  CHECK(IsExplained(third));
  CHECK(client.Do("PUT", "/docs/d/sections/b", "2").status == 204);
  CHECK(client.Do("DELETE", "/docs/d/sections/a").status == 204);
  CHECK(client.Do("PUT", "/docs/d/sections/c", "1").status == 201);
}

TEST_CASE("a body beyond the limit is refused before it is read", "[docstore]") {
  const Service service(TestServer::TwoShards(), {.max_body_bytes = 100});
  {
    Client client = service.Connect();
    CHECK(client.Do("PUT", "/docs/d/sections/s", std::string(100, 'x')).status == 201);
    const Reply reply = client.Do("PUT", "/docs/d/sections/s", std::string(101, 'x'));
    CHECK(reply.status == 413);
    CHECK(IsExplained(reply));
    CHECK(reply.Field("connection") == "close");
    CHECK(client.AtEnd());
  }
  {
    Client client = service.Connect();  // nobody knows how much is to come
    client.Send(
        "PUT /docs/d/sections/s HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n"
        "40\r\n" +
        std::string(64, 'x') + "\r\n40\r\n" + std::string(64, 'x'));
    CHECK(client.Receive().status == 413);
    CHECK(client.AtEnd());
  }
  {
    Client client = service.Connect();  // asks first, and need not send it
    client.Send(
        "PUT /docs/d/sections/s HTTP/1.1\r\nHost: t\r\nContent-Length: 101\r\n"
        "Expect: 100-continue\r\n\r\n");
    CHECK(client.Receive().status == 413);
  }
}

TEST_CASE("a client that asks first is told to go on", "[docstore]") {
  const Service service;
  Client client = service.Connect();
  client.Send(Format("GET", "/healthz") +
              "PUT /docs/d/sections/s HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\n"
              "Expect: 100-continue\r\n\r\n");
  CHECK(client.Receive().status == 200);  // what came before goes before
  CHECK(client.Receive().status == 100);
  client.Send("body");
  CHECK(client.Receive().status == 201);
  CHECK(client.Do("GET", "/docs/d/sections/s").body == "body");
}

TEST_CASE("a client of HTTP/1.0 is not told to go on", "[docstore]") {
  const Service service;
  Client client = service.Connect();
  client.Send(
      "PUT /docs/d/sections/s HTTP/1.0\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"
      "body");
  CHECK(client.Receive().status == 201);
}

TEST_CASE("malformed HTTP closes that connection alone", "[docstore]") {
  const Service service(TestServer::TwoShards(), {.max_header_bytes = 512});
  Client innocent = service.Connect();
  const auto check = [&](const std::string& bytes, int status) {
    CAPTURE(bytes);
    Client client = service.Connect();
    client.Send(bytes);
    const Reply reply = client.Receive();
    CHECK(reply.status == status);
    CHECK(IsExplained(reply));
    CHECK(reply.Field("connection") == "close");
    CHECK(client.AtEnd());
    CHECK(innocent.Do("GET", "/healthz").status == 200);
  };
  check("garbage\r\n\r\n", 400);
  check(std::string("\x16\x03\x01\x02\0\x01\0\x01\xFC\x03\x03\r\n\r\n", 15), 400);  // TLS
  check("GET /healthz HTTP/1.1\r\nHost: t\r\nbad field\r\n\r\n", 400);
  check("PUT /docs/d/sections/s HTTP/1.1\r\nHost: t\r\nContent-Length: -1\r\n\r\n", 400);
  check(
      "PUT /docs/d/sections/s HTTP/1.1\r\nHost: t\r\nContent-Length: 1\r\nContent-Length: "
      "2\r\n\r\n",
      400);
  check(
      "PUT /docs/d/sections/s HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\nTransfer-Encoding: "
      "chunked\r\n"
      "\r\n",
      400);
  check("PUT /docs/d/sections/s HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        400);
  check("GET /healthz HTTP/2.0\r\n\r\n", 505);
  check("GET /" + std::string(600, 'x') + " HTTP/1.1\r\nHost: t\r\n\r\n", 431);
  check("GET /healthz HTTP/1.1\r\nHost: t\r\nA: " + std::string(600, 'x') + "\r\n\r\n", 431);
}

TEST_CASE("a malformed request is refused and nothing behind it is run", "[docstore]") {
  std::size_t well_formed = 0;
  for (const CorpusRequest& request : ReadHttpCorpus()) {
    CAPTURE(request.name);
    const Service service;
    Client bystander = service.Connect();
    CHECK(bystander.Do("PUT", "/docs/d/sections/victim", "kept").status == 201);
    Client client = service.Connect();
    client.Send(request.bytes);
    CHECK(client.Receive().status == request.status);
    if (request.well_formed()) {
      ++well_formed;
      CHECK(client.Do("GET", "/docs/d/sections/s").body == "abc");
    } else {
      CHECK(client.AtEnd());
      CHECK(bystander.Do("GET", "/docs/d/sections/s").status == 404);
    }
    CHECK(bystander.Do("GET", "/docs/d/sections/victim").body == "kept");
  }
  CHECK(well_formed > 0);
}

TEST_CASE("what was well-formed before malformed input is answered", "[docstore]") {
  const Service service;
  Client client = service.Connect();
  client.Send(Format("PUT", "/docs/d/sections/s", "x") + "garbage\r\n\r\n");
  CHECK(client.Receive().status == 201);
  CHECK(client.Receive().status == 400);
  CHECK(client.AtEnd());
}

TEST_CASE("a request cut short is told so if the client still listens", "[docstore]") {
  const Service service;
  Client client = service.Connect();
  client.Send("PUT /docs/d/sections/s HTTP/1.1\r\nHost: t\r\nContent-Length: 10\r\n\r\nhalf");
  client.ShutdownSend();
  CHECK(client.Receive().status == 400);
  CHECK(client.AtEnd());
  CHECK(service.Connect().Do("GET", "/docs/d/sections/s").status == 404);
}

TEST_CASE("a client that sends no more gets all its answers", "[docstore]") {
  const Service service;
  Client client = service.Connect();
  client.Send(Format("PUT", "/docs/d/sections/s", "x") + Format("GET", "/docs/d/sections/s"));
  client.ShutdownSend();
  CHECK(client.Receive().status == 201);
  CHECK(client.Receive().body == "x");
  CHECK(client.AtEnd());
}

TEST_CASE("answers come in the order of their requests", "[docstore]") {
  // Fewer at once than are sent: reading pauses and goes on.
  const Service service(TestServer::TwoShards(), {.max_pipelined = 3});
  Client client = service.Connect();
  constexpr int kRequests = 500;
  std::string requests;
  for (int i = 0; i < kRequests; ++i) {
    const std::string target =
        "/docs/d" + std::to_string(i % 7) + "/sections/s" + std::to_string(i % 50);
    requests += Format("PUT", target, std::to_string(i));
    requests += Format("GET", target);
  }
  client.Send(requests);
  bool in_order = true;
  for (int i = 0; i < kRequests; ++i) {
    const int put = client.Receive().status;
    in_order &= put == 201 || put == 204;
    in_order &= client.Receive().body == std::to_string(i);
  }
  CHECK(in_order);
}

TEST_CASE("a connection ends when the client asks for it", "[docstore]") {
  const Service service;
  {
    Client client = service.Connect();
    const Reply reply = client.Do("GET", "/healthz", "", {{"Connection", "close"}});
    CHECK(reply.status == 200);
    CHECK(reply.Field("connection") == "close");
    CHECK(client.AtEnd());
  }
  {
    Client client = service.Connect();
    client.Send("GET /healthz HTTP/1.0\r\n\r\n");
    CHECK(client.Receive().status == 200);
    CHECK(client.AtEnd());
  }
}

TEST_CASE("silent clients are disconnected", "[docstore]") {
  const Service service(TestServer::TwoShards(), {.idle_timeout = 40ms});
  Client client = service.Connect();
  CHECK(client.Do("GET", "/healthz").status == 200);
  CHECK(client.AtEnd());
}

TEST_CASE("slow clients are told and disconnected", "[docstore]") {
  const Service service(TestServer::TwoShards(), {.request_timeout = 40ms});
  for (const char* begun :
       {"GET /heal",
        "PUT /docs/d/sections/s HTTP/1.1\r\nHost: t\r\nContent-Length: 10\r\n\r\nhalf"}) {
    CAPTURE(begun);
    Client client = service.Connect();
    client.Send(begun);
    const Reply reply = client.Receive();
    CHECK(reply.status == 408);
    CHECK(IsExplained(reply));
    CHECK(client.AtEnd());
  }
}

TEST_CASE("a client that does not take its answers is disconnected", "[docstore]") {
  const Service service(TestServer::TwoShards(), {.request_timeout = 40ms});
  Client watcher = service.Connect();
  CHECK(watcher.Do("PUT", "/docs/d/sections/s", std::string(1 << 20, 'x')).status == 201);
  const auto connections = [&] {
    const std::string text = watcher.Do("GET", "/metrics").body;
    const std::string_view name = "\ndocstore_connections ";
    return std::stoi(text.substr(text.find(name) + name.size()));
  };
  Client client = service.Connect();
  std::string requests;
  for (int i = 0; i < 64; ++i) requests += Format("GET", "/docs/d/sections/s");
  client.Send(requests);
  // Until the connection is accepted, and then until it is gone.
  while (connections() < 2) {
  }
  while (connections() > 1) {
  }
  SUCCEED("ctest's time-out fails this if the server waits for ever");
}

TEST_CASE("connections beyond the limit are told to come back", "[docstore]") {
  const Service service(TestServer::TwoShards(), {.max_connections = 1});
  Client first = service.Connect();
  CHECK(first.Do("GET", "/healthz").status == 200);
  Client second = service.Connect();
  const Reply reply = second.Receive();
  CHECK(reply.status == 503);
  CHECK(reply.Field("retry-after") == "1");
  CHECK(IsExplained(reply));
  CHECK(second.AtEnd());
  CHECK(first.Do("GET", "/healthz").status == 200);
}

TEST_CASE("the operator can look inside", "[docstore]") {
  const Service service;
  Client client = service.Connect();
  CHECK(client.Do("GET", "/healthz").body == "{\"status\":\"ok\"}\n");
  CHECK(client.Do("PUT", "/docs/d/sections/s", "x").status == 201);
  const Reply metrics = client.Do("GET", "/metrics");
  CHECK(metrics.Field("content-type") == "text/plain; version=0.0.4; charset=utf-8");
  CHECK(metrics.body.find("\nstout_keys_marked_total{shard=\"1\",lane=\"0\"} ") !=
        std::string::npos);
  CHECK(metrics.body.find("\ndocstore_requests_total{method=\"PUT\",status=\"201\"} 1\n") !=
        std::string::npos);
  const Reply stats = client.Do("GET", "/stats");
  CHECK(stats.Field("content-type") == "application/json");
  CHECK(stats.body.find("\"stout_keys_marked_total\":2") != std::string::npos);
}

// The options of a server with tenants.
DocumentsOptions WithTenants() {
  DocumentsOptions documents = TestServer::TwoShards();
  documents.tenants = std::make_shared<Tenants>();
  return documents;
}

TEST_CASE("a request is of the tenant that a trusted header names", "[docstore]") {
  const Service service(WithTenants(), {.tenant_field = "Docstore-Tenant"});
  Client client = service.Connect();
  const test::HttpFields shop = {{"docstore-tenant", "shop"}};
  CHECK(client.Do("PUT", "/docs/d/sections/s", "one").status == 201);
  CHECK(client.Do("GET", "/docs/d/sections/s", {}, shop).body == "one");
  CHECK(client.Do("GET", "/docs/none/sections/s", {}, shop).status == 404);
  const std::string page = client.Do("GET", "/metrics").body;
  const std::string labels = "{tenant=\"shop\",cache=\"records\"} ";
  // The section, and the manifest of its document.
  CHECK(page.find("docstore_tenant_hits_total" + labels + "2\n") != std::string::npos);
  CHECK(page.find("docstore_tenant_misses_total" + labels + "2\n") != std::string::npos);
  CHECK(client.Do("GET", "/stats").body.find(R"("tenant":"shop")") != std::string::npos);

  for (const char* const name : {"a b", "\"", "\xc3\xa9"}) {
    const Reply refused = client.Do("GET", "/docs/d/sections/s", {}, {{"Docstore-Tenant", name}});
    CHECK(refused.status == 400);
    CHECK(IsExplained(refused));
  }
  // A proxy that adds the header does not replace that of the client.
  CHECK(client
            .Do("GET", "/docs/d/sections/s", {},
                {{"Docstore-Tenant", "shop"}, {"Docstore-Tenant", "reports"}})
            .status == 400);
}

TEST_CASE("a header that names a tenant is ignored unless it is trusted", "[docstore]") {
  const Service service(WithTenants());
  Client client = service.Connect();
  const test::HttpFields forged = {{"Docstore-Tenant", "shop"}};
  CHECK(client.Do("GET", "/docs/d/sections/s", {}, forged).status == 404);
  CHECK(client.Do("GET", "/metrics").body.find("tenant=\"shop\"") == std::string::npos);
}

}  // namespace
}  // namespace stout::docstore
