#pragma once

/// Tests that are compiled with -O0 share this, as all other targets share cmake/precompiled.h.

#include "cmake/precompiled.h"
#include "tests/support/catch.h"
