#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "load/value_body.h"
#include "load/workload.h"

namespace stout::load {

/// Writes the HTTP/1.1 requests of the load, one at a time into one buffer: by hand, because the
/// generator shares the machine with what it measures.
///
/// Owner: value type.   Threads: none of its own.
class RequestWriter {
 public:
  /// `authority` is the Host header: HOST:PORT. `tenant`: that of all requests; empty: none.
  RequestWriter(const Corpus& corpus, std::string_view authority, std::string_view tenant,
                std::size_t value_bytes);

  /// The text is valid until the next call.
  std::string_view Get(SectionId section);
  std::string_view Put(const BodyTag& tag);
  std::string_view GetMetrics();

 private:
  Corpus corpus_;
  std::size_t value_bytes_;
  std::string get_tail_;  // all that follows the path
  std::string put_tail_;
  std::string buffer_;
};

}  // namespace stout::load
