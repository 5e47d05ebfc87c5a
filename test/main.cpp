// test/main.cpp — Catch2's main function, compiled once for all tests.
// SPDX-License-Identifier: BSL-1.0
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_session.hpp>

int main(int argc, char** argv) { return Catch::Session().run(argc, argv); }
#else
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif
