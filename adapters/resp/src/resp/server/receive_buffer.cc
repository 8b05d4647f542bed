#include "resp/server/receive_buffer.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace stout::resp {

// Wherever bytes are moved to, there is then room for as many again as they are, and for what was
// asked, before the next move.
std::span<char> ReceiveBuffer::Prepare(std::size_t size) {
  const std::size_t held = end_ - begin_;
  const std::size_t ample = 2 * (held + size);
  if (held == 0) begin_ = end_ = 0;
  if (capacity_ > kept_ && ample <= kept_) {
    Relocate(kept_);
  } else if (capacity_ - end_ < size) {
    if (ample <= capacity_) {
      std::copy(bytes_.get() + begin_, bytes_.get() + end_, bytes_.get());
      begin_ = 0;
      end_ = held;
    } else {
      Relocate(ample);
    }
  }
  return {bytes_.get() + end_, capacity_ - end_};
}

void ReceiveBuffer::Commit(std::size_t size) {
  assert(size <= capacity_ - end_);
  end_ += size;
}

void ReceiveBuffer::Consume(std::size_t size) {
  assert(size <= end_ - begin_);
  begin_ += size;
}

void ReceiveBuffer::Relocate(std::size_t capacity) {
  // Not make_unique, which would write zeros that nobody reads.
  auto bytes = std::make_unique_for_overwrite<char[]>(capacity);
  const std::size_t held = end_ - begin_;
  std::copy(bytes_.get() + begin_, bytes_.get() + end_, bytes.get());
  bytes_ = std::move(bytes);
  capacity_ = capacity;
  begin_ = 0;
  end_ = held;
}

}  // namespace stout::resp
