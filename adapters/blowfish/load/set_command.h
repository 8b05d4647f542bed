#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stout::blowfish {

/// A command of RESP of these words.
[[nodiscard]] std::string EncodeCommand(const std::vector<std::string_view>& words);

/// Records that go to the server together: SET of one, MSET of several.
class SetCommand {
 public:
  /// `line`: where the record stands, larger than of those added before.
  void Add(std::string_view key, std::string_view value, std::uint64_t line);

  [[nodiscard]] std::size_t records() const { return parts_.size(); }
  /// Bytes of keys and values.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t first_line() const { return parts_.front().line; }
  [[nodiscard]] std::uint64_t last_line() const { return parts_.back().line; }
  /// Bytes that it takes to keep.
  [[nodiscard]] std::size_t encoded_bytes() const { return arguments_.size(); }

  void AppendTo(std::string& out) const;
  /// The same, a record each. Requires several records.
  [[nodiscard]] std::vector<SetCommand> Split() const;

 private:
  struct Part {
    std::size_t end;    // In arguments_.
    std::size_t bytes;  // bytes of key and value
    std::uint64_t line;
  };
  std::string arguments_;  // Keys and values, encoded.
  std::vector<Part> parts_;
  std::size_t bytes_ = 0;
};

}  // namespace stout::blowfish
