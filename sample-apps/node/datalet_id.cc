#include "node/datalet_id.h"

#include <fmt/format.h>

#include <boost/asio/use_future.hpp>
#include <utility>

#include "resp/store/store_commands.h"
#include "stout/adapters/datalet_keys.h"
#include "stout/adapters/member_ranges.h"
#include "stout/adapters/store_url.h"
#include "stout/core/batch.h"

namespace stout::node {

Result<std::string> DataIdOf(Store& store, Diagnostics* diagnostics) {
  const std::string key(internal::kDataKey);
  const ReadBatch read{.id = 1, .lane = 0, .keys = {key}};
  const ReadResult found = store.AsyncRead(read, boost::asio::use_future).get();
  if (found.errc != Errc::kOk) return found.errc;
  if (const Errc errc = found.states.at(0).errc; errc != Errc::kOk) return errc;
  if (found.states[0].found) return found.states[0].value;
  // Its keys may be those of a single node, and a fill would delete them.
  if (auto why = WhyNotEmpty(store)) return Fail(Errc::kBadOptions, *std::move(why), diagnostics);
  const std::string id = resp::DrawDataId();
  const WriteBatch write{.epoch = 1, .items = {{.key = key, .value = id, .version = 1}}};
  const WriteResult written = store.AsyncWrite(write, boost::asio::use_future).get();
  if (written.batch != Errc::kOk) return written.batch;
  if (!written.items.empty()) return written.items.front().errc;
  return id;
}

}  // namespace stout::node
