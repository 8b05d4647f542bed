#pragma once

/// Likewise for tests: see cmake/precompiled.h.

#include "cmake/precompiled.h"
#include "tests/support/catch.h"
