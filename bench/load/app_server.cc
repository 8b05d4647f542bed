#include "load/app_server.h"

#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace stout::bench {
namespace {

namespace asio = boost::asio;

EngineOptions OptionsOf(const Policy& policy, std::uint64_t seed) {
  EngineOptions options{.lane = {.write_policy = policy}};
  options.seed = seed;
  return options;
}

}  // namespace

AppServer::AppServer(const asio::any_io_executor& executor, Store& store, const Policy& policy,
                     Documents documents, std::uint64_t seed)
    : documents_(std::move(documents)),
      interposer_(executor, store,
                  {.serialize =
                       [this](KeyView, std::string& value) {
                         value.append(documents_.NextValue());
                         return Serialized::kValue;
                       }},
                  OptionsOf(policy, seed)) {}

asio::awaitable<void> AppServer::Open() { co_await interposer_.AsyncOpen(asio::use_awaitable); }

void AppServer::Change(std::size_t document, Answer answer) {
  const KeyView key = documents_.key(document);
  const Result<Stamp> marked = interposer_.MarkDirty(key, documents_.value_bytes());
  if (!marked) return answer(marked.error());
  interposer_.SafeReply(key, std::move(answer));
}

Totals AppServer::Count() const {
  Totals totals;
  for (const LaneStats& lane : interposer_.Stats().lanes) {
    totals += {lane.keys_marked, lane.writes_sent, lane.batches_sent};
  }
  return totals;
}

}  // namespace stout::bench
