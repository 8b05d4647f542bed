#pragma once

#include <hiredis/read.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stout::resp {

// A server's answer to one command.
struct Reply {
  enum class Kind { kNil, kStatus, kError, kInteger, kString, kArray };

  Kind kind = Kind::kNil;
  std::int64_t integer = 0;
  std::string text{};             // kStatus, kError, kString
  std::vector<Reply> elements{};  // kArray

  [[nodiscard]] bool error() const { return kind == Kind::kError; }
  // The first word of an error: "MOVED" of "MOVED 3999 127.0.0.1:6381". Otherwise empty.
  [[nodiscard]] std::string_view code() const;

  bool operator==(const Reply&) const = default;
};

// Makes replies of the bytes that come, by the parser of hiredis.
class ReplyReader {
 public:
  ReplyReader();

  void Feed(std::string_view bytes);
  // The next whole reply, or none yet; see error().
  [[nodiscard]] std::optional<Reply> Next();
  // All that came has been read.
  [[nodiscard]] bool Empty() const { return reader_->pos == reader_->len; }
  // Empty, or why what came is no reply: there will be none any more.
  [[nodiscard]] std::string_view error() const { return reader_->errstr; }

 private:
  struct Free {
    void operator()(redisReader* reader) const { redisReaderFree(reader); }
  };
  std::unique_ptr<redisReader, Free> reader_;
};

}  // namespace stout::resp
