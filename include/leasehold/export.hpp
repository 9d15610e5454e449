#pragma once
// What every header stands on: C++20, and what a shared library shows of itself.
//
// A shared leasehold exports what is marked here and hides all else (-fvisibility=hidden): what a
// header does not mark is no part of what a version promises.

#if __cplusplus < 202002L
#error "leasehold needs C++20: compile with -std=c++20 (CMake: target_compile_features cxx_std_20)"
#include <leasehold needs C++20>  // is nowhere: ends the compiler's complaints here
#endif

#ifdef __GNUC__
#define LEASEHOLD_EXPORT [[gnu::visibility("default")]]
#else
#define LEASEHOLD_EXPORT
#endif
