#pragma once
// A fuzzer gives texts at random to one part of the library that reads what others have written.
// The part may refuse a text by leasehold::error and nothing else; a text that breaks a property
// ends the fuzzer, which leaves the text in a file.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "leasehold/error.hpp"

namespace leasehold::fuzz {

inline void require(bool holds, const char* property) {
    if (holds) return;
    std::fprintf(stderr, "it does not hold that %s\n", property);
    std::abort();
}

// True if `use` took the text, false if it refused the text.
template <class Use>
bool is_taken(Use&& use) {
    try {
        use();
        return true;
    } catch (const error&) {
        return false;
    }
}

void try_text(std::string_view text);

}  // namespace leasehold::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    leasehold::fuzz::try_text({reinterpret_cast<const char*>(bytes), size});
    return 0;
}
