#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include "ask_registry.h"
#include "datalets.h"
#include "stout/adapters/datalet_keys.h"
#include "stout/adapters/member_ranges.h"
#include "stout/adapters/store_url.h"

namespace stout {
namespace {

namespace asio = boost::asio;

// Maximum keys of one page.
constexpr std::size_t kPage = 1000;

// Runs a context while the thread that would run it waits for answers.
class Runner {
 public:
  explicit Runner(asio::io_context& context)
      : context_(context),
        work_(asio::make_work_guard(context)),
        thread_([&] { context_.run(); }) {}
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  ~Runner() {
    context_.stop();
    thread_.join();
    work_.reset();  // the end of the last work stops the context again
    context_.restart();
  }

 private:
  asio::io_context& context_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::thread thread_;
};

Result<RegistryTable> ReadRecords(Registry& registry, int attempts, Diagnostics* diagnostics) {
  RegistryTable records;
  const auto ask = [&] {
    ErrorCode unread;
    std::tie(unread, records) =
        Wait<RegistryTable>([&](auto handler) { registry.Read(std::move(handler)); });
    return unread;
  };
  if (const ErrorCode failed = AskRegistry(attempts, ask, diagnostics)) return failed;
  return records;
}

// Returns true if the store at a URL is a datalet of the deployment.
bool IsKnown(const RegistryTable& records, const std::string& url) {
  return std::ranges::any_of(records.datalets,
                             [&](const auto& each) { return each.second.value.url == url; });
}

// Returns a key of a store that is not empty; nullopt if there is none. The part of a table does
// not count: a store may be a datalet of the table before it is one of the default table.
Result<std::optional<std::string>> SomeKey(Store& store) {
  ScanRequest request{.cursor = {}, .limit = kPage};
  do {
    ScanResult page = store.AsyncScan(request, asio::use_future).get();
    if (page.errc != Errc::kOk) return page.errc;
    for (ScannedKey& key : page.keys) {
      const bool may = key.key == internal::kDataKey || internal::IsOfTable(key.key);
      if (!may) return std::optional(std::move(key.key));
    }
    request.cursor = std::move(page.cursor);
  } while (!request.cursor.empty());
  return std::optional<std::string>();
}

}  // namespace

std::optional<std::string> WhyUnusable(const std::string& url, const DataletOpener& open) {
  Diagnostics why;
  const auto store = open(url, &why);
  if (!store) return why.message;
  if (const char* const unsuited = WhyUnsuited((*store)->traits())) return unsuited;
  return WhyNotEmpty(**store);
}

std::optional<std::string> WhyNotEmpty(Store& store) {
  const auto key = SomeKey(store);
  if (!key) return fmt::format("it cannot list its keys: {}", ErrorCode(key.error()).message());
  if (!*key) return std::nullopt;
  if ((*key)->starts_with(internal::kInternalKeys)) {
    return fmt::format(
        "it is a datalet of a deployment already, or was one: it has the key '{}' of a member; "
        "name an empty store",
        **key);
  }
  return fmt::format(
      "it has keys already, like '{}', and a deployment deletes what its members lack: name an "
      "empty store",
      **key);
}

Result<ClusterConfig> JoinDeployment(asio::io_context& context, LeaseService& leases,
                                     const ClusterConfig& wanted,
                                     const std::function<void(ClusterConfig& kept)>& given,
                                     const std::vector<std::string>& datalets,
                                     const DataletOpener& open, Diagnostics* diagnostics,
                                     int attempts) {
  Registry* const registry = leases.registry();
  if (registry == nullptr) {
    return Fail(Errc::kBadOptions,
                "this lease service cannot keep the records of datalets: use etcd: or postgres:",
                diagnostics);
  }
  const Runner runner(context);
  auto agreed = AgreeOnConfig(*registry, wanted, given, diagnostics, attempts);
  if (!agreed) return agreed;
  for (const std::string& url : datalets) {
    auto records = ReadRecords(*registry, attempts, diagnostics);
    if (!records) return records.error();
    if (IsKnown(*records, url)) continue;
    const auto why = WhyUnusable(url, open);
    if (!why) continue;
    // Another server may have brought it meanwhile, and then written to it.
    records = ReadRecords(*registry, attempts, diagnostics);
    if (!records) return records.error();
    if (!IsKnown(*records, url)) {
      return Fail(Errc::kBadOptions, fmt::format("datalet {}: {}", Redacted(url), *why),
                  diagnostics);
    }
  }
  return agreed;
}

}  // namespace stout
