#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stout::postgres {

// Type numbers, which PostgreSQL fixes for ever (catalog/pg_type_d.h is no header for clients).
enum class Type : unsigned {
  kBytea = 17,
  kInt8 = 20,
  kText = 25,
  kByteaArray = 1001,
  kInt8Array = 1016,
};

// An array in binary format, element by element, of which any run of elements can be sent.
class Array {
 public:
  // kBytea or kInt8.
  explicit Array(Type element) : element_(element) {}

  void Add(std::string_view bytes);
  void Add(std::int64_t number);
  void AddNull();

  [[nodiscard]] std::size_t size() const { return ends_.size(); }
  [[nodiscard]] bool IsNull(std::size_t i) const;
  // The bytes of an element that is not null.
  [[nodiscard]] std::string_view operator[](std::size_t i) const;
  // The elements [first, last). Requires first < last <= size().
  [[nodiscard]] std::string Slice(std::size_t first, std::size_t last) const;

 private:
  [[nodiscard]] std::size_t Begin(std::size_t i) const { return i == 0 ? 0 : ends_[i - 1]; }

  Type element_;
  std::string elements_;           // each with its length before it, as sent
  std::vector<std::size_t> ends_;  // of each element, in elements_
  bool has_null_ = false;
};

[[nodiscard]] std::string Int8(std::int64_t number);

// Big-endian, as PostgreSQL sends numbers.
[[nodiscard]] std::int64_t DecodeInt8(const char* bytes);

}  // namespace stout::postgres
