#include "connection.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "scripts.h"
#include "server_facts.h"

namespace stout::redis {
namespace {

namespace asio = boost::asio;

// The answers to AppendAskForIncarnation().
constexpr std::size_t kFacts = 2;

// A server that becomes a replica keeps its connections. To be a master again it needs longer.
constexpr std::chrono::seconds kObserveAgain{1};

Commands Greeting(const RedisOptions& options, const Target& target, bool watched) {
  Commands commands;
  resp::AppendAuth(options.user, options.password, &commands);
  if (target.database != 0) commands.Add({"SELECT", std::to_string(target.database)});
  commands.Append(LoadScripts());
  if (watched) AppendAskForIncarnation(&commands);
  return commands;
}

resp::Peer PeerOf(const RedisOptions& options, const Target& target, bool watched) {
  return {.name = "redis " + NameOf(target.address),
          .address = {target.address.host, target.address.port, target.address.socket},
          .greeting = Greeting(options, target, watched),
          .timeout = options.timeout,
          .connect_timeout = options.connect_timeout};
}

bool LacksScript(const Reply& reply) { return reply.code() == "NOSCRIPT"; }

}  // namespace

std::string NameOf(const RedisAddress& address) {
  return resp::NameOf({address.host, address.port, address.socket});
}

Connection::Connection(const std::shared_ptr<const RedisOptions>& options, const Target& target,
                       const asio::any_io_executor& strand, std::shared_ptr<LossWatch> watch)
    : resp::Connection(
          std::make_shared<const resp::Peer>(PeerOf(*options, target, watch != nullptr)), strand),
      address_(target.address),
      watch_(std::move(watch)) {}

asio::awaitable<std::string> Connection::Connect() {
  noted_epoch_ = 0;
  Outcome outcome = co_await Open();
  if (watch_ == nullptr || outcome.errc != Errc::kOk) co_return std::move(outcome.message);
  Observe(std::span(outcome.replies).last(kFacts));
  if (!watch_->lost()) co_return std::string();
  Drop();
  co_return std::string("acknowledged writes may be lost: nothing is sent to it");
}

asio::awaitable<Outcome> Connection::Run(const Commands& commands) {
  const bool asks = watch_ != nullptr && Clock::now() - observed_ >= kObserveAgain;
  if (!asks) co_return co_await resp::Connection::Run(commands);
  Commands all;
  AppendAskForIncarnation(&all);
  all.Append(commands);
  Outcome outcome = co_await resp::Connection::Run(all);
  if (outcome.errc != Errc::kOk) co_return outcome;
  const auto facts = std::span(outcome.replies).first(kFacts);
  if (std::any_of(facts.begin(), facts.end(), [](const Reply& fact) { return fact.error(); })) {
    outcome.errc = Errc::kUnknown;  // no answer counts of a server that may be another one
    co_return outcome;
  }
  Observe(facts);
  outcome.replies.erase(outcome.replies.begin(), outcome.replies.begin() + kFacts);
  co_return outcome;
}

void Connection::Observe(std::span<const Reply> answers) {
  observed_ = Clock::now();
  watch_->Observe(address_, IncarnationOf(answers[0], answers[1]), ReplicasOf(answers[1]));
}

asio::awaitable<Outcome> Connection::RunScripts(const Commands& commands) {
  Outcome outcome = co_await Run(commands);
  if (std::none_of(outcome.replies.begin(), outcome.replies.end(), LacksScript)) co_return outcome;
  outcome = co_await Run(LoadScripts());
  if (outcome.errc == Errc::kOk) outcome = co_await Run(commands);
  co_return outcome;
}

}  // namespace stout::redis
