#pragma once

/// The version of the library and of its programs. CMake also reads it from here.
#define STOUT_VERSION "0.1.0"
