#pragma once
// The base of every header: C++20, and the names that a shared library shows.
//
// A shared leasehold exports the names that are marked here and hides all others
// (-fvisibility=hidden): a version promises nothing about a name that no header marks.

#if __cplusplus < 202002L
#error "leasehold needs C++20: compile with -std=c++20 (CMake: target_compile_features cxx_std_20)"
#include <leasehold needs C++20>  // is nowhere: ends the compiler's complaints here
#endif

// Marks a parameter, or the object of a member function, that the result refers to and must not
// outlive. Clang then finds a result that was made from a temporary; other compilers see nothing.
#ifdef __clang__
#define LEASEHOLD_LIFETIMEBOUND [[clang::lifetimebound]]
#else
#define LEASEHOLD_LIFETIMEBOUND
#endif

#ifdef __GNUC__
#define LEASEHOLD_EXPORT [[gnu::visibility("default")]]
#else
#define LEASEHOLD_EXPORT
#endif
