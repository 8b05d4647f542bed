#include "stout/error.h"

namespace stout::inline v1 {
namespace {

class Category final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return "stout"; }
  std::string message(int value) const override {
    return std::string(Describe(static_cast<Errc>(value)));
  }
};

}  // namespace

const boost::system::error_category& ErrorCategory() noexcept {
  static const Category category;
  return category;
}

}  // namespace stout::inline v1
