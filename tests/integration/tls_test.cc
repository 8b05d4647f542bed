// TLS of stout-node and blowfish-server as programs, which share the code for it.

#include <fmt/format.h>
#include <openssl/ssl.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/process.h"
#include "tests/support/resp_client.h"
#include "tests/support/temp_directory.h"
#include "tls_client.h"
#include "tls_program.h"

namespace stout::test {
namespace {

using Catch::Contains;

std::vector<std::string> ProgramCommand(const std::string& program, const std::string& directory) {
  if (program == "stout-node") return {STOUT_NODE, "--store", "memory:"};
  return {STOUT_BLOWFISH_SERVER, "--dir", directory + "/shards", "--shards", "1"};
}

// A private stout-node or blowfish-server that speaks TLS.
struct TlsServer final : TlsProgram {
  explicit TlsServer(const std::string& program, const std::vector<std::string>& settings = {})
      : TlsProgram(CommandOf(program, settings),
                   [](const std::string& directory) { MakeCertificate(directory, "first"); }) {}

 private:
  static std::vector<std::string> CommandOf(const std::string& program,
                                            const std::vector<std::string>& settings) {
    std::vector<std::string> command = ProgramCommand(program, "{}");
    command.insert(command.end(), settings.begin(), settings.end());
    return command;
  }
};

std::string EitherProgram() { return GENERATE(as<std::string>(), "stout-node", "blowfish-server"); }

// Both use the same code for TLS, so most tests take one of them.
const std::string kProgram = "stout-node";

TEST_CASE("a server answers a TLS client as it answers a plain one", "[tls]") {
  const TlsServer server(EitherProgram());
  TlsClient client(server.port());
  CHECK(client.Do({"PING"}) == "+PONG");
  CHECK(client.Do({"SET", "k", "v"}) == "+OK");
  CHECK(client.Do({"GET", "k"}) == "$v");
  CHECK_THAT(client.Do({"HELLO", "3"}), Contains("{$server, $") && Contains("$proto, :3"));
  CHECK(client.Do({"GET", "none"}) == "(nil)");
  CHECK(client.Do({"QUIT"}) == "+OK");
  CHECK(client.EndsWithNotify());
}

TEST_CASE("long pipelines pass through TLS in both directions", "[tls]") {
  const TlsServer server(EitherProgram());
  TlsClient client(server.port());
  const int count = 64;
  const auto value = [](int i) { return std::string((256 << 10) - i, static_cast<char>('0' + i)); };
  for (int i = 0; i < count; ++i) client.Queue({"SET", std::to_string(i), value(i)});
  for (int i = 0; i < count; ++i) REQUIRE(client.Receive() == "+OK");
  for (int i = 0; i < count; ++i) client.Queue({"GET", std::to_string(i)});
  for (int i = 0; i < count; ++i) REQUIRE((client.Receive() == "$" + value(i)));
}

TEST_CASE("a record that arrives in pieces is put together", "[tls]") {
  const TlsServer server(kProgram);
  TlsClient client(server.port());
  const std::string value(20'000, 'v');  // two records
  const std::string records = client.Encrypt(
      fmt::format("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${}\r\n{}\r\n", value.size(), value));
  REQUIRE(records.size() > value.size());
  for (std::size_t at = 0; at < records.size(); at += 7) client.SendRecords(records.substr(at, 7));
  CHECK(client.Receive() == "+OK");
  CHECK((client.Do({"GET", "k"}) == "$" + value));
}

TEST_CASE("a client without TLS is disconnected and others are served", "[tls]") {
  const TlsServer server(EitherProgram());
  TlsClient other(server.port());
  RespClient plain(server.port());
  plain.Send("*1\r\n$4\r\nPING\r\n");
  CHECK(plain.Ends());
  CHECK(server.Logs("wrong version number"));
  RespClient browser(server.port());
  browser.Send("GET / HTTP/1.1\r\n\r\n");
  CHECK(browser.Ends());
  CHECK(server.Logs("http request"));
  CHECK(other.Do({"PING"}) == "+PONG");
}

TEST_CASE("a client that stalls in the handshake is disconnected", "[tls]") {
  const TlsServer server(EitherProgram(), {"--write-timeout", "1"});
  RespClient silent(server.port());
  RespClient halfway(server.port());
  halfway.Send(ClientHello().substr(0, 100));
  RespClient waiting(server.port());
  waiting.Send(ClientHello());
  CHECK(silent.Ends());
  CHECK(halfway.Ends());
  CHECK(waiting.Ends());
  CHECK(server.Logs("its TLS handshake takes too long"));
  CHECK(TlsClient(server.port()).Do({"PING"}) == "+PONG");
}

TEST_CASE("a TLS connection that is cut anywhere harms no other", "[tls]") {
  const TlsServer server(EitherProgram());
  TlsClient other(server.port());
  const std::string hello = ClientHello();
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, hello.size() / 2, hello.size()}) {
    RespClient client(server.port());
    client.Send(hello.substr(0, size));
  }
  {
    TlsClient client(server.port());
    const std::string records = client.Encrypt("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n");
    client.SendRecords(records.substr(0, records.size() - 1));
  }
  {
    TlsClient client(server.port());
    std::string records = client.Encrypt("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n");
    records.back() ^= 1;
    client.SendRecords(records);
    CHECK_FALSE(client.EndsWithNotify());
  }
  CHECK(Eventually([&] {
    return other.Do({"INFO", "clients"}).find("connected_clients:1\r") != std::string::npos;
  }));
  CHECK(other.Do({"GET", "k"}) == "(nil)");
}

TEST_CASE("a TLS client beyond --max-clients is disconnected", "[tls]") {
  const TlsServer server(kProgram, {"--max-clients", "1"});
  std::optional<TlsClient> first;
  // The server may not have noticed that the client before has gone.
  const auto connect = [&] {
    try {
      first.emplace(server.port());
      return true;
    } catch (const std::exception&) {
      return false;
    }
  };
  REQUIRE(Eventually(connect));
  CHECK_THROWS_AS(TlsClient(server.port()), std::runtime_error);
  CHECK(first->Do({"PING"}) == "+PONG");
  CHECK_THAT(first->Do({"INFO", "stats"}), !Contains("rejected_connections:0\r"));
  first.reset();
  CHECK(Eventually(connect));
}

TEST_CASE("a TLS client that takes no replies is disconnected", "[tls]") {
  const TlsServer server(EitherProgram(), {"--write-timeout", "1"});
  TlsClient client(server.port());
  REQUIRE(client.Do({"SET", "k", std::string(1 << 20, 'x')}) == "+OK");
  TlsClient sleeper(server.port());
  std::string gets;
  for (int i = 0; i < 64; ++i) gets += "GET k\r\n";
  sleeper.Send(gets);
  CHECK(Eventually([&] {
    return client.Do({"INFO", "clients"}).find("slow_readers_cut_off:1") != std::string::npos;
  }));
}

TEST_CASE("a signal ends a server after the answers that are due to TLS clients", "[tls]") {
#ifdef STOUT_TSAN
  // ThreadSanitizer holds SIGTERM back while the main thread of stout-node waits in a futex.
  const std::string program = "blowfish-server";
#else
  const std::string program = EitherProgram();
#endif
  TlsServer server(program);
  TlsClient idle(server.port());
  REQUIRE(idle.Do({"PING"}) == "+PONG");
  RespClient stalled(server.port());
  stalled.Send(ClientHello());
  TlsClient busy(server.port());
  const std::string value(1 << 20, 'x');
  REQUIRE(busy.Do({"SET", "k", value}) == "+OK");
  const int count = 32;
  for (int i = 0; i < count; ++i) busy.Queue({"GET", "k"});
  REQUIRE((busy.Receive() == "$" + value));  // it has read all of them
  server.Signal(SIGTERM);
  CHECK(idle.EndsWithNotify());
  CHECK(stalled.Ends());
  REQUIRE(server.Up());
  for (int i = 1; i < count; ++i) REQUIRE((busy.Receive() == "$" + value));
  CHECK(busy.EndsWithNotify());
  CHECK(Eventually([&] { return !server.Up(); }));
  if (program == "stout-node") CHECK_THAT(server.Log(), Contains("ended with exit code 0"));
  CHECK(server.Log().find("ERROR: ") == std::string::npos);  // a sanitizer's
}

TEST_CASE("a server speaks TLS 1.2 and 1.3 and refuses TLS 1.1", "[tls]") {
  const TlsServer server(kProgram);
  CHECK(TlsClient(server.port(), TLS1_3_VERSION).Do({"PING"}) == "+PONG");
  CHECK(TlsClient(server.port(), TLS1_2_VERSION).Do({"PING"}) == "+PONG");
  CHECK_THROWS_WITH(TlsClient(server.port(), TLS1_1_VERSION), Contains("protocol version"));
}

TEST_CASE("after SIGHUP new TLS clients get the new certificate", "[tls]") {
  TlsServer server(EitherProgram());
  TlsClient before(server.port());
  CHECK(before.CertificateName() == "CN = first");
  MakeCertificate(server.files(), "second");
  server.Signal(SIGHUP);
  CHECK(server.Logs("again"));
  CHECK(TlsClient(server.port()).CertificateName() == "CN = second");
  CHECK(before.Do({"PING"}) == "+PONG");
  std::ofstream(server.files() + "/cert.pem") << "nothing";
  server.Signal(SIGHUP);
  CHECK(server.Logs("keeping the certificate that was read before: --tls-cert: "));
  CHECK(TlsClient(server.port()).CertificateName() == "CN = second");
}

TEST_CASE("files of no use for --tls-cert and --tls-key are refused by option", "[tls]") {
  const std::string program = EitherProgram();
  const TempDirectory directory;
  const std::string& path = directory.path();
  const std::string cert = path + "/cert.pem";
  const std::string key = path + "/key.pem";
  const auto fails = [&](const std::vector<std::string>& options) {
    std::vector<std::string> command = ProgramCommand(program, path);
    command.insert(command.begin(), {"timeout", "20"});
    command.insert(command.end(), options.begin(), options.end());
    try {
      RunToEnd(command);
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string("it ended well");
  };
  MakeCertificate(path, "test");
  CHECK_THAT(fails({"--tls-cert", cert}), Contains("--tls-cert requires --tls-key"));
  CHECK_THAT(fails({"--tls-key", key}), Contains("--tls-key requires --tls-cert"));
  CHECK_THAT(fails({"--tls-cert", path + "/none", "--tls-key", key}),
             Contains("--tls-cert: cannot read '" + path + "/none': No such file"));
  CHECK_THAT(fails({"--tls-cert", cert, "--tls-key", path + "/none"}),
             Contains("--tls-key: cannot read '" + path + "/none': No such file"));
  CHECK_THAT(fails({"--tls-cert", path, "--tls-key", key}),
             Contains("--tls-cert: '" + path + "' has no usable certificate in PEM"));
  CHECK_THAT(fails({"--tls-cert", key, "--tls-key", key}),
             Contains("--tls-cert: '" + key + "' has no usable certificate in PEM"));
  CHECK_THAT(fails({"--tls-cert", cert, "--tls-key", cert}),
             Contains("--tls-key: '" + cert + "' has no private key in PEM"));
  const auto other_key = [&](const std::string& name, const std::string& kind) {
    const std::string other = path + "/" + name;
    std::filesystem::create_directories(other);
    MakeCertificate(other, "test", kind);
    return other + "/key.pem";
  };
  const std::string same_type = other_key("ec", kEcKey);
  const std::string other_type = other_key("rsa", "rsa:2048 -nodes");
  for (const std::string& other : {same_type, other_type}) {
    CHECK_THAT(fails({"--tls-cert", cert, "--tls-key", other}),
               Contains("--tls-key: the key in '" + other + "' does not match the first"));
  }
  const std::string locked = other_key("locked", "rsa:2048 -passout pass:secret");
  CHECK_THAT(fails({"--tls-cert", cert, "--tls-key", locked}),
             Contains("--tls-key: '" + locked + "' has no private key in PEM without a pass"));
}

}  // namespace
}  // namespace stout::test
