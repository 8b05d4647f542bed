#pragma once

/// The version of the library and of its programs. CMake reads it here, too.
#define STOUT_VERSION "0.1.0"
