#include "stout/adapters/open_lease_service.h"

#include <span>
#include <string>

#include "schemes.h"
#include "stout/in_process_leases.h"
#ifdef STOUT_HAS_ETCD
#include "stout/adapters/etcd_leases.h"
#endif
#ifdef STOUT_HAS_POSTGRES
#include "stout/adapters/postgres_leases.h"
#endif

namespace stout {
namespace {

constexpr std::string_view kInProcessSyntax = "in-process:";

Result<std::unique_ptr<LeaseService>> OpenInProcess(const StoreUrl& url,
                                                    const boost::asio::any_io_executor& executor,
                                                    Diagnostics* diagnostics) {
  if (url != StoreUrl{.scheme = url.scheme}) {
    return Fail(Errc::kBadUrl, "in-process: takes no host, no path and no option", diagnostics);
  }
  return std::make_unique<InProcessLeases>(executor);
}

// The kinds that are compiled in.
constexpr Scheme<LeaseService> kLeaseSchemes[] = {
    {"in-process", kInProcessSyntax, OpenInProcess},
#ifdef STOUT_HAS_POSTGRES
    {"postgres", PostgresLeases::kUrlSyntax, PostgresLeases::OpenUrl},
    {"postgresql", "", PostgresLeases::OpenUrl},
#endif
#ifdef STOUT_HAS_ETCD
    {"etcd", EtcdLeases::kUrlSyntax, EtcdLeases::OpenUrl},
#endif
};

}  // namespace

std::string_view LeaseServiceUrlSyntax() {
  static const std::string text = JoinSyntax(std::span<const Scheme<LeaseService>>(kLeaseSchemes));
  return text;
}

Result<std::unique_ptr<LeaseService>> OpenLeaseService(std::string_view url,
                                                       const boost::asio::any_io_executor& executor,
                                                       Diagnostics* diagnostics) {
  return OpenByScheme(std::span<const Scheme<LeaseService>>(kLeaseSchemes), "lease service", url,
                      executor, diagnostics);
}

}  // namespace stout
