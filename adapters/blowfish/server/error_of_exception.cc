#include "blowfish/server/error_of_exception.h"

#include <spdlog/spdlog.h>

#include <exception>
#include <new>

#include "blowfish/server/batch.h"

namespace stout::blowfish {

std::string_view ErrorOfException() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return kNoMemory;
  } catch (const std::exception& error) {
    spdlog::error("a shard failed at a command: {}", error.what());
    return "ERR internal error: see the log of the server";
  }
}

}  // namespace stout::blowfish
