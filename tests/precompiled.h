#pragma once

/// As cmake/precompiled.h, for tests.

#include "cmake/precompiled.h"
#include "tests/support/catch.h"
