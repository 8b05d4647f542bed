#include "stout/adapters/open_leases.h"

#include <string>
#include <utility>

#include "schemes.h"
#include "stout/in_process_leases.h"
#ifdef STOUT_HAS_POSTGRES
#include "stout/adapters/postgres_leases.h"
#endif

namespace stout {
namespace {

Result<std::unique_ptr<LeaseService>> OpenInProcess(const StoreUrl& url,
                                                    const boost::asio::any_io_executor& executor,
                                                    Diagnostics* diagnostics) {
  const UrlOptionReader reader(url);
  if (auto error = reader.Finish()) return Fail(Errc::kBadUrl, std::move(*error), diagnostics);
  return std::make_unique<InProcessLeases>(executor);
}

// What is compiled in.
constexpr Scheme<LeaseService> kSchemes[] = {
    {"memory", "memory:", OpenInProcess},
#ifdef STOUT_HAS_POSTGRES
    {"postgres", PostgresLeases::kUrlSyntax, PostgresLeases::OpenUrl},
    {"postgresql", "", PostgresLeases::OpenUrl},
#endif
};

}  // namespace

std::string_view LeaseUrlSyntax() {
  static const std::string text = JoinSyntax<LeaseService>(kSchemes);
  return text;
}

Result<std::unique_ptr<LeaseService>> OpenLeaseService(std::string_view url,
                                                       const boost::asio::any_io_executor& executor,
                                                       Diagnostics* diagnostics) {
  return OpenByScheme<LeaseService>(kSchemes, "lease service", url, executor, diagnostics);
}

}  // namespace stout
