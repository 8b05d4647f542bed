#include "stout/adapters/range_source.h"

#include <fmt/format.h>

#include <boost/asio/post.hpp>
#include <utility>

namespace stout {
namespace {

// The map may be destroyed only on its strand.
std::shared_ptr<WriteBackMap> MakeMap(const boost::asio::any_io_executor& executor, Store& store,
                                      WriteBackMapOptions options) {
  auto map = std::make_unique<WriteBackMap>(executor, store, std::move(options));
  return {map.release(), [](WriteBackMap* last) {
            const auto strand = last->get_executor();
            boost::asio::post(strand, [owned = std::unique_ptr<WriteBackMap>(last)] {});
          }};
}

}  // namespace

Scope ScopeOf(const Scope& scope, RangeId range) { return fmt::format("{}/{}", scope, range); }

SharedStore::SharedStore(const boost::asio::any_io_executor& executor, Store& store,
                         std::string scope, WriteBackMapOptions map)
    : executor_(executor), store_(store), scope_(std::move(scope)), options_(std::move(map)) {}

void SharedStore::Make(RangeId range, Epoch epoch, UniqueFunction<void()>, RangeHandler handler) {
  auto map = MakeMap(executor_, store_, options_);
  auto open = [map = map.get(), scope = ScopeOf(scope_, range), epoch](KeyMap::Reply done) {
    map->interposer().OpenOwned(scope, epoch, std::move(done));
  };
  handler({std::move(map), std::move(open)});
}

StoreHealth::Clock::duration SharedStore::InVain() const {
  return store_.health().InVain(StoreHealth::Clock::now());
}

}  // namespace stout
