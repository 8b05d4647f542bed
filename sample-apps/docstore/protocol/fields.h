#pragma once

#include <string_view>

namespace stout::docstore {

/// The header field of a response to a request that had no effect, because this server does not
/// serve this range of documents at present. A router may therefore repeat any request with this
/// answer, and sends it to the owner of the range at that time.
inline constexpr std::string_view kUnservedRange = "Docstore-Unserved-Range";

/// The header field of a request that names its tenant, for a server that trusts it.
inline constexpr std::string_view kTenantField = "Docstore-Tenant";

}  // namespace stout::docstore
