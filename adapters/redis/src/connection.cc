#include "connection.h"

#include <algorithm>

#include "scripts.h"

namespace stout::redis {
namespace {

namespace asio = boost::asio;

Commands Greeting(const RedisOptions& options, const Target& target) {
  Commands commands;
  resp::AppendAuth(options.user, options.password, &commands);
  if (target.database != 0) commands.Add({"SELECT", std::to_string(target.database)});
  commands.Append(LoadScripts());
  return commands;
}

resp::Peer PeerOf(const RedisOptions& options, const Target& target) {
  return {.name = "redis " + NameOf(target.address),
          .address = {target.address.host, target.address.port, target.address.socket},
          .greeting = Greeting(options, target),
          .timeout = options.timeout,
          .connect_timeout = options.connect_timeout};
}

bool LacksScript(const Reply& reply) { return reply.code() == "NOSCRIPT"; }

}  // namespace

std::string NameOf(const RedisAddress& address) {
  return resp::NameOf({address.host, address.port, address.socket});
}

Connection::Connection(const std::shared_ptr<const RedisOptions>& options, const Target& target,
                       const asio::any_io_executor& strand)
    : resp::Connection(std::make_shared<const resp::Peer>(PeerOf(*options, target)), strand) {}

asio::awaitable<Outcome> Connection::RunScripts(const Commands& commands) {
  Outcome outcome = co_await Run(commands);
  if (std::none_of(outcome.replies.begin(), outcome.replies.end(), LacksScript)) co_return outcome;
  outcome = co_await Run(LoadScripts());
  if (outcome.errc == Errc::kOk) outcome = co_await Run(commands);
  co_return outcome;
}

}  // namespace stout::redis
