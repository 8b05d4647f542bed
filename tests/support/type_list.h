#pragma once

// Lists of types for TEMPLATE_TEST_CASE whose members the build chooses: each is defined as nothing
// or as `, Type`, and STOUT_TEST_TYPES(void A B C) is what there is.
#define STOUT_TEST_WITHOUT_FIRST(first, ...) __VA_ARGS__
#define STOUT_TEST_TYPES(...) STOUT_TEST_WITHOUT_FIRST(__VA_ARGS__)
