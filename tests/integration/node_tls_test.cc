// Several stout-nodes that serve TLS, and so speak it with each other.

#include <fmt/format.h>
#include <sys/socket.h>

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "resp/server/unix_socket.h"
#include "stout/adapters/hash_slot.h"
#include "tests/support/catch.h"
#include "tests/support/etcd_server.h"
#include "tests/support/eventually.h"
#include "tests/support/process.h"
#include "tests/support/redis_server.h"
#include "tests/support/temp_directory.h"
#include "tls_client.h"
#include "tls_program.h"

namespace stout::test {
namespace {

using Catch::Contains;

std::string ErrorOf(const std::vector<std::string>& command) {
  try {
    return "none: " + RunToEnd(command);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

TEST_CASE("a node has a Unix socket for clients of its machine, without TLS", "[node][tls]") {
  TlsProgram node({STOUT_NODE, "--store", "memory:", "--unix-socket", "{}/socket",
                   "--unix-socket-mode", "0640"},
                  [](const std::string& directory) { MakeCertificate(directory, "node"); });
  const std::string path = node.files() + "/socket";
  const std::vector<std::string> other = {STOUT_NODE, "--store", "memory:", "--listen",
                                          "127.0.0.1:0"};
  const auto started_at = [&](const std::string& file) {
    auto command = other;
    command.insert(command.end(), {"--unix-socket", file});
    return command;
  };
  RespClient client(path);
  CHECK(client.Do({"SET", "k", "v"}) == "+OK");
  CHECK(TlsClient(node.port()).Do({"GET", "k"}) == "$v");
  CHECK_THAT(client.Do({"CLIENT", "LIST"}), Contains("addr=unix"));

  CHECK_THAT(ErrorOf(started_at(path)), Contains("Address already in use; choose another file"));
  CHECK_THAT(ErrorOf(started_at("")), Contains("--unix-socket: the value is empty"));
  CHECK_THAT(ErrorOf(started_at(node.files() + "/cert.pem")),
             Contains("there is a file that is no socket; choose another file"));
  CHECK(std::filesystem::is_regular_file(node.files() + "/cert.pem"));
  CHECK_THAT(ErrorOf(started_at(std::string(200, 'x'))), Contains("File name too long"));
  CHECK_THAT(ErrorOf(started_at(node.files() + "/none/socket")), Contains("No such file"));

  node.Kill();
  CHECK(std::filesystem::exists(path));
  node.Start();
  CHECK(RespClient(path).Do({"PING"}) == "+PONG");
  const auto mode = std::filesystem::status(path).permissions();
  CHECK(mode == static_cast<std::filesystem::perms>(0640));
  node.Signal(SIGSTOP);  // its queue may be full, but it lives
  CHECK_THAT(ErrorOf(started_at(path)), Contains("Address already in use"));
  node.Signal(SIGCONT);
  RespClient last(path);
  last.Send("SHUTDOWN\r\n");
  CHECK(last.Ends());
  CHECK(Eventually([&] { return !std::filesystem::exists(path); }));
}

TEST_CASE("a Unix socket that another process has replaced stays", "[node][tls]") {
  const TempDirectory directory;
  const std::string path = directory.path() + "/socket";
  boost::asio::io_context context;
  resp::UnixSocket first(context);
  resp::UnixSocket second(context);
  REQUIRE_FALSE(first.Listen({.path = path}));
  CHECK(second.Listen({.path = path}) == boost::asio::error::address_in_use);
  std::filesystem::remove(path);
  resp::UnixSocket third(context);
  REQUIRE_FALSE(third.Listen({.path = path}));
  first.Close();
  CHECK(std::filesystem::is_socket(path));
  third.Close();
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("a Unix socket whose queue is full is in use", "[node][tls]") {
  namespace asio = boost::asio;
  const TempDirectory directory;
  const asio::local::stream_protocol::endpoint endpoint(directory.path() + "/socket");
  asio::io_context context;
  asio::local::stream_protocol::acceptor busy(context, endpoint.protocol());
  busy.bind(endpoint);
  busy.listen(0);
  std::vector<asio::local::stream_protocol::socket> clients;
  do {  // not by Asio's connect: it does not notice that the queue is full
    clients.emplace_back(context);
    clients.back().open();
    clients.back().non_blocking(true);
  } while (::connect(clients.back().native_handle(), endpoint.data(),
                     static_cast<socklen_t>(endpoint.size())) == 0);
  resp::UnixSocket other(context);
  CHECK(other.Listen({.path = endpoint.path()}) == asio::error::address_in_use);
  CHECK(std::filesystem::is_socket(endpoint.path()));
}

// An authority that issues certificates.
struct Authority {
  Authority() { MakeCertificate(directory.path(), "authority"); }

  // Writes a certificate for an IP address, its key, and the authority's own certificate.
  void Issue(const std::string& to, const std::string& address) const {
    MakeCertificate(to, "node",
                    fmt::format("{} -CA {}/cert.pem -CAkey {}/key.pem -addext "
                                "subjectAltName=IP:{}",
                                kEcKey, directory.path(), directory.path(), address));
    std::filesystem::copy_file(directory.path() + "/cert.pem", to + "/ca.pem",
                               std::filesystem::copy_options::overwrite_existing);
  }

  TempDirectory directory;
};

struct TlsNodes {
  // With members, each brings a datalet; otherwise they share a store.
  explicit TlsNodes(std::size_t count, bool members = false) : members(members) {
    std::ofstream(password) << "secret\n";
    while (nodes.size() < count) Add();
    CHECK(Owned(count));
  }

  TlsProgram& Add(const std::vector<std::string>& settings = {}) {
    std::vector<std::string> command = {
        STOUT_NODE,
        members ? "--datalet" : "--store",
        members ? "memory:" : fmt::format("redis://127.0.0.1:{}", redis.port()),
        "--join",
        fmt::format("etcd://127.0.0.1:{}/kv", etcd.port()),
        "--lease-ttl",
        "2s",
        "--reply-deadline",
        "1s",
        "--password-file",
        password,
        "--tls-ca",
        "{}/ca.pem"};
    command.insert(command.end(), settings.begin(), settings.end());
    nodes.push_back(std::make_unique<TlsProgram>(
        std::move(command),
        [this](const std::string& directory) { authority.Issue(directory, "127.0.0.1"); }));
    return *nodes.back();
  }

  // Returns whether all keys get an owner, and each of so many nodes gets some.
  [[nodiscard]] bool Owned(std::size_t by) const {
    const auto client = Connect(0);
    return Eventually([&] {
      const std::string info = client->Do({"CLUSTER", "INFO"});
      return info.find("slots_assigned:16384") != std::string::npos &&
             info.find(fmt::format("cluster_size:{}", by)) != std::string::npos;
    });
  }

  [[nodiscard]] std::unique_ptr<TlsClient> Connect(std::size_t node) const {
    auto client = std::make_unique<TlsClient>(nodes[node]->port());
    REQUIRE(client->Do({"AUTH", "secret"}) == "+OK");
    return client;
  }

  // Returns whether the first node answers some GET with a text that contains this.
  [[nodiscard]] bool SomeGetSays(const std::string& text) const {
    const auto client = Connect(0);
    return Eventually([&] {
      for (int i = 0; i < 16; ++i) {
        if (client->Do({"GET", KeyOf(i)}).find(text) != std::string::npos) return true;
      }
      return false;
    });
  }

  // Returns a key of a range.
  [[nodiscard]] static std::string KeyOf(std::size_t range) {
    return fmt::format("{{{}}}key", redis::SlotTags()[range * redis::kSlots / 16]);
  }

  const bool members;
  Authority authority;
  TempDirectory directory;
  const std::string password = directory.path() + "/password";
  RedisServer redis;
  EtcdServer etcd;
  std::vector<std::unique_ptr<TlsProgram>> nodes;
};

TEST_CASE("every key is right through every node with TLS", "[node][cluster][tls]") {
  const TlsNodes fleet(3);
  const auto one = fleet.Connect(0);
  const auto two = fleet.Connect(1);
  const auto three = fleet.Connect(2);
  const std::string large(1 << 20, 'x');
  for (std::size_t range = 0; range < 16; ++range) {
    const std::string key = TlsNodes::KeyOf(range);
    CAPTURE(key);
    CHECK(one->Do({"SET", key, "5"}) == "+OK");
    CHECK(two->Do({"INCR", key}) == ":6");
    CHECK(three->Do({"GET", key}) == "$6");
    CHECK((two->Do({"SET", key, large}) == "+OK"));
    CHECK((one->Do({"GETDEL", key}) == "$" + large));
    CHECK(three->Do({"GET", key}) == "(nil)");
  }
  CHECK_THAT(one->Do({"CLUSTER", "SHARDS"}),
             Contains(fmt::format("$tls-port, :{}", fleet.nodes[2]->port())));
  std::vector<std::string> command = {
      "/usr/bin/python3", STOUT_INTEGRATION "/redis_py.py",
      fmt::format(R"({{"ssl": true, "ssl_ca_certs": "{}/cert.pem", "password": "secret"}})",
                  fleet.authority.directory.path())};
  for (const auto& node : fleet.nodes) command.push_back(std::to_string(node->port()));
  CHECK_THAT(RunToEnd(command), Contains("passed"));
}

TEST_CASE("nodes with TLS keep ranges on each other's datalets", "[node][cluster]") {
  TlsNodes nodes(2, true);
  const auto client = nodes.Connect(0);
  CHECK(Eventually([&] {
    const std::string status = client->Do({"STOUT.STATUS"});
    std::size_t in = 0;
    for (auto at = status.find("\"in\""); at != std::string::npos; ++in) {
      at = status.find("\"in\"", at + 1);
    }
    return in == 2 * 16;
  }));
  for (std::size_t range = 0; range < 16; ++range) {
    CHECK(client->Do({"SET", TlsNodes::KeyOf(range), "1"}) == "+OK");
  }
}

TEST_CASE("a node sends no command to one whose certificate it does not trust",
          "[node][cluster][tls][not_tsan]") {
  TlsNodes fleet(2);
  const Authority other;
  const std::string name = fmt::format("node 127.0.0.1:{}", fleet.nodes[1]->port());
  fleet.nodes[1]->Kill();
  REQUIRE(fleet.Owned(1));
  other.Issue(fleet.nodes[1]->files(), "127.0.0.1");
  fleet.nodes[1]->Start();
  REQUIRE(fleet.Owned(2));
  CHECK(fleet.SomeGetSays("-TRYAGAIN not done: " + name + ": its certificate is refused: "));
  CHECK(fleet.SomeGetSays("it must be from --tls-ca and for '127.0.0.1'"));
  CHECK(fleet.nodes[0]->Logs(name + ": its certificate is refused: "));

  // The same authority: nothing but the certificates was wrong.
  other.Issue(fleet.nodes[0]->files(), "127.0.0.1");
  fleet.nodes[0]->Signal(SIGHUP);
  CHECK(fleet.nodes[0]->Logs("again"));
  const auto client = fleet.Connect(0);
  for (std::size_t range = 0; range < 16; ++range) {
    CHECK(client->Do({"SET", TlsNodes::KeyOf(range), "v"}) == "+OK");
  }
}

TEST_CASE("a node sends no command to one whose certificate is for another address",
          "[node][cluster][tls][not_tsan]") {
  TlsNodes fleet(1);
  const TlsProgram impostor({STOUT_NODE, "--store", "memory:"}, [&](const std::string& directory) {
    fleet.authority.Issue(directory, "127.0.0.2");
  });
  fleet.Add({"--advertise", fmt::format("127.0.0.1:{}", impostor.port())});
  REQUIRE(fleet.Owned(2));
  CHECK(
      fleet.SomeGetSays(fmt::format("node 127.0.0.1:{}: its certificate is refused: IP address "
                                    "mismatch; it must be from --tls-ca and for '127.0.0.1'",
                                    impostor.port())));
}

TEST_CASE("a node whose certificate other nodes would refuse does not start",
          "[node][cluster][tls][not_tsan]") {
  const Authority authority;
  const Authority other;
  const TempDirectory directory;
  const std::string& path = directory.path();
  authority.Issue(path, "127.0.0.1");
  const auto starts = [&](const std::string& settings) {
    const std::string command = fmt::format(
        "cd {} && timeout 20 {} --store redis://127.0.0.1:1 --tls-cert cert.pem "
        "--tls-key key.pem {} 2>&1 || true",
        path, STOUT_NODE, settings);
    return RunToEnd({"sh", "-c", command});
  };
  const std::string join = "--listen 127.0.0.1:0 --join etcd://127.0.0.1:1/kv ";
  CHECK_THAT(starts(join), Contains("--join with --tls-cert needs --tls-ca"));
  CHECK_THAT(starts("--tls-ca ca.pem"), Contains("--tls-ca requires --join"));
  CHECK_THAT(starts(join + "--tls-ca none"),
             Contains("--tls-ca: cannot read 'none': No such file"));
  CHECK_THAT(starts(join + "--tls-ca key.pem"),
             Contains("--tls-ca: 'key.pem' has no usable certificate in PEM"));
  CHECK_THAT(starts(join + "--tls-ca " + other.directory.path() + "/cert.pem"),
             Contains("--tls-cert: the certificate in 'cert.pem' is refused: unable to get local "
                      "issuer certificate; it must be from --tls-ca and for '127.0.0.1'"));
  CHECK_THAT(starts(join + "--tls-ca ca.pem --advertise 10.0.0.1:7001"),
             Contains("IP address mismatch; it must be from --tls-ca and for '10.0.0.1'"));
  CHECK_THAT(starts(join + "--tls-ca ca.pem --advertise db7:7001"),
             Contains("hostname mismatch; it must be from --tls-ca and for 'db7'"));
  CHECK_THAT(starts(join + "--tls-ca ca.pem"), !Contains("--tls-"));
  // A certificate may be trusted itself.
  CHECK_THAT(starts(join + "--tls-ca cert.pem"), !Contains("--tls-"));
}

}  // namespace
}  // namespace stout::test
