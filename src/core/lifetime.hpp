#pragma once
// Marks a parameter that the object made from it refers to, and must not outlive. Clang then finds
// an object that was made from a temporary; other compilers see nothing. The checks of .clang-tidy
// make that an error.

#ifdef __clang__
#define LEASEHOLD_LIFETIMEBOUND [[clang::lifetimebound]]
#else
#define LEASEHOLD_LIFETIMEBOUND
#endif
