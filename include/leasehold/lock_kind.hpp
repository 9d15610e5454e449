#pragma once
// The kinds of locks that a key can be used as, and the modes of one of several holders.
//
// A key is used as one kind at a time: as long as anybody holds it as one, asking for it as another
// is errc::invalid_argument, with a message that names both. A key nobody uses may change its kind.
//
// Threads: plain values.
#include "leasehold/export.hpp"

namespace leasehold {

enum class lock_kind {
    mutex = 1,         // mutex.hpp
    shared_mutex = 2,  // shared_mutex.hpp
    semaphore = 3,     // semaphore.hpp
    latch = 4,         // latch.hpp
    barrier = 5,       // barrier.hpp
};

constexpr const char* name_of(lock_kind kind) noexcept {
    switch (kind) {
        case lock_kind::mutex:
            return "mutex";
        case lock_kind::shared_mutex:
            return "shared mutex";
        case lock_kind::semaphore:
            return "semaphore";
        case lock_kind::latch:
            return "latch";
        case lock_kind::barrier:
            return "barrier";
    }
    return "kind this program does not know";
}

// A hold lets others beside it, or not, by its mode.
enum class hold_mode {
    shared = 1,       // beside other shared holds; permits and places have it, too
    exclusive = 2,    // alone
    upgradeable = 4,  // beside shared holds; the one hold that may become exclusive
};

constexpr const char* name_of(hold_mode mode) noexcept {
    switch (mode) {
        case hold_mode::shared:
            return "shared";
        case hold_mode::exclusive:
            return "exclusive";
        case hold_mode::upgradeable:
            return "upgradeable";
    }
    return "mode this program does not know";
}

}  // namespace leasehold
