#include "blowfish/client/introduction.h"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

#include "blowfish/client/requests.h"

namespace stout::blowfish::client {
namespace {

namespace asio = boost::asio;

Introduction Stranger(std::string_view what_it_said, bool is_node) {
  return {
      Errc::kBadUrl,
      fmt::format("it is not a {} ({}): open a Redis as redis://",
                  is_node ? "stout-node that serves a datalet" : "blowfish-server", what_it_said)};
}

Introduction Failure(resp::Outcome outcome, bool is_node) {
  // Redis does not know this command.
  if (outcome.message.starts_with("ERR unknown command")) return Stranger(outcome.message, is_node);
  return {outcome.errc, std::move(outcome.message)};
}

Introduction Read(const Reply& answer, bool is_node) {
  const std::optional<ServerFacts> facts = DecodeShards(answer);
  if (!facts) return Stranger("its answer to STOUT.SHARDS is malformed", is_node);
  if (facts->version != kVersion) {
    return {Errc::kBadUrl,
            fmt::format("it speaks version {} of the commands STOUT.*, this library "
                        "version {}: install a server and a library of the same release",
                        facts->version, kVersion)};
  }
  return {.facts = *facts};
}

// A server without this command cannot search.
Introduction WithSchema(Introduction introduction, resp::Outcome outcome) {
  if (outcome.errc != Errc::kOk) return Failure(std::move(outcome), false);
  const Reply& answer = outcome.replies.back();
  if (answer.error()) {
    if (answer.text.starts_with("ERR unknown command")) return introduction;
    return {ErrorOf(answer), answer.text};
  }
  introduction.facts.schema = DecodeSchema(answer);
  if (!introduction.facts.schema) return Stranger("its answer to SCHEMA is malformed", false);
  return introduction;
}

}  // namespace

resp::Peer PeerOf(const BlowfishStore::Options& options) {
  const resp::Address address{options.host, options.port};
  Commands greeting;
  resp::AppendAuth(options.user, options.password, &greeting);
  greeting.Append(AskForShards());
  return {.name = (options.is_node ? "stout " : "blowfish ") + NameOf(address),
          .address = address,
          .greeting = std::move(greeting),
          .timeout = options.timeout,
          .connect_timeout = options.connect_timeout,
          .make_tls = options.make_tls};
}

asio::awaitable<Introduction> Introduce(resp::Connection& connection, bool is_node) {
  resp::Outcome outcome = co_await connection.Open();
  if (outcome.errc != Errc::kOk) co_return Failure(std::move(outcome), is_node);
  Introduction introduction = Read(outcome.replies.back(), is_node);
  if (introduction.errc != Errc::kOk) connection.Drop();
  co_return introduction;
}

Result<ServerFacts> AskServer(const std::shared_ptr<const resp::Peer>& peer, bool is_node,
                              Diagnostics* diagnostics) {
  // Uses a context of its own, because the caller's executor may be the thread that waits here.
  asio::io_context io;
  resp::Connection connection(peer, io.get_executor());
  Introduction introduction;
  const auto ask = [&]() -> asio::awaitable<void> {
    introduction = co_await Introduce(connection, is_node);
    if (introduction.errc != Errc::kOk || is_node) co_return;
    introduction = WithSchema(std::move(introduction), co_await connection.Run(AskForSchema()));
  };
  asio::co_spawn(io, ask, [](std::exception_ptr error) {
    if (error) std::rethrow_exception(error);
  });
  io.run();
  if (introduction.errc != Errc::kOk) {
    return Fail(introduction.errc, fmt::format("{}: {}", peer->name, introduction.message),
                diagnostics);
  }
  return introduction.facts;
}

}  // namespace stout::blowfish::client
