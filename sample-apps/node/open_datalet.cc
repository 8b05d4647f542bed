#include "node/open_datalet.h"

#include <mutex>
#include <utility>

#include "resp/client/tls.h"
#include "stout/adapters/open_store.h"
#include "stout/adapters/store_url.h"
#ifdef STOUT_HAS_BLOWFISH
#include "stout/adapters/blowfish_store.h"
#endif

namespace stout::node {

Result<std::unique_ptr<Store>> OpenDatalet(const std::string& url,
                                           [[maybe_unused]] resp::Service& self,
                                           const boost::asio::any_io_executor& executor,
                                           Diagnostics* diagnostics) {
#ifdef STOUT_HAS_BLOWFISH
  const Result<StoreUrl> parts = ParseStoreUrl(url, diagnostics);
  if (!parts) return parts.error();
  if (parts->scheme == "stout") {
    auto options = BlowfishStore::ReadUrl(*parts, diagnostics);
    if (!options) return options.error();
    if (options->password.empty()) options->password = self.password;
    if (!self.tls.certificate.empty()) {
      options->make_tls = [&self, host = options->host](resp::TlsLayer::Socket& socket) {
        const std::lock_guard lock(self.tls_mutex);
        return resp::MakeTlsLayer(socket, *self.tls_context, host);
      };
    }
    return BlowfishStore::Open(*options, executor, diagnostics);
  }
#endif
  return OpenStore(url, executor, diagnostics);
}

}  // namespace stout::node
