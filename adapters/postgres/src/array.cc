#include "array.h"

#include <boost/endian/conversion.hpp>

namespace stout::postgres {
namespace {

template <typename T>
void Append(std::string& out, T number) {
  boost::endian::native_to_big_inplace(number);
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

}  // namespace

void Array::Add(std::string_view bytes) {
  Append(elements_, static_cast<std::int32_t>(bytes.size()));
  elements_ += bytes;
  ends_.push_back(elements_.size());
}

void Array::Add(std::int64_t number) {
  Append(elements_, static_cast<std::int32_t>(sizeof number));
  Append(elements_, number);
  ends_.push_back(elements_.size());
}

void Array::AddNull() {
  Append(elements_, std::int32_t{-1});
  ends_.push_back(elements_.size());
  has_null_ = true;
}

bool Array::IsNull(std::size_t i) const {
  return boost::endian::load_big_s32(reinterpret_cast<const unsigned char*>(&elements_[Begin(i)])) <
         0;
}

std::string_view Array::operator[](std::size_t i) const {
  const std::size_t begin = Begin(i) + sizeof(std::int32_t);
  return std::string_view(elements_).substr(begin, ends_[i] - begin);
}

std::string Array::Slice(std::size_t first, std::size_t last) const {
  const std::size_t begin = Begin(first);
  const std::size_t size = ends_[last - 1] - begin;
  std::string bytes;
  bytes.reserve(20 + size);
  Append(bytes, std::int32_t{1});  // dimensions
  Append(bytes, static_cast<std::int32_t>(has_null_));
  Append(bytes, static_cast<std::int32_t>(element_));
  Append(bytes, static_cast<std::int32_t>(last - first));
  Append(bytes, std::int32_t{1});  // index of the first
  bytes.append(elements_, begin, size);
  return bytes;
}

std::string Int8(std::int64_t number) {
  std::string bytes;
  Append(bytes, number);
  return bytes;
}

std::int64_t DecodeInt8(const char* bytes) {
  return boost::endian::load_big_s64(reinterpret_cast<const unsigned char*>(bytes));
}

}  // namespace stout::postgres
