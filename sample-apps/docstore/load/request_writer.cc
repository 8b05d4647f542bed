#include "load/request_writer.h"

#include <fmt/format.h>

#include "protocol/fields.h"

namespace stout::load {

RequestWriter::RequestWriter(const Corpus& corpus, std::string_view authority,
                             std::string_view tenant, std::size_t value_bytes)
    : corpus_(corpus), value_bytes_(value_bytes) {
  const std::string fields =
      fmt::format(" HTTP/1.1\r\nHost: {}\r\n{}", authority,
                  tenant.empty() ? "" : fmt::format("{}: {}\r\n", docstore::kTenantField, tenant));
  get_tail_ = fields + "\r\n";
  put_tail_ = fmt::format("{}Content-Length: {}\r\n\r\n", fields, value_bytes);
}

std::string_view RequestWriter::Get(SectionId section) {
  buffer_.assign("GET ");
  corpus_.AppendPath(section, buffer_);
  return buffer_ += get_tail_;
}

std::string_view RequestWriter::Put(const BodyTag& tag) {
  buffer_.assign("PUT ");
  corpus_.AppendPath(tag.section, buffer_);
  buffer_ += put_tail_;
  AppendBody(tag, value_bytes_, buffer_);
  return buffer_;
}

std::string_view RequestWriter::GetMetrics() {
  buffer_.assign("GET /metrics");
  return buffer_ += get_tail_;
}

}  // namespace stout::load
