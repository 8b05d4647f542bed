// The main() of every test binary, compiled once: it is most of Catch2.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
