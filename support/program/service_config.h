#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>

#include "program/address.h"

namespace stout::program {

/// The options of every program that serves.
struct ServiceConfig {
  Address listen = {.port = 8080};
  std::size_t threads = std::max(1U, std::thread::hardware_concurrency());
  std::chrono::nanoseconds drain_timeout = std::chrono::seconds(30);
  std::string log_level = "info";
};

}  // namespace stout::program
