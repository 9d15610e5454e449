#pragma once
// OpenSSL cleans up after itself when the process ends, and crashes whoever uses it after that. It
// does so before the destructors of objects that are older than its first use, as a static database
// is: their threads may still connect, and a lease at namespace scope has to be given back.
//
// keep_openssl_to_the_end() asks OpenSSL not to clean up: the system takes the memory back anyway.
// This holds for the whole process, and has no effect where the program has used OpenSSL before, or
// has it linked statically. No header of OpenSSL is needed.
//
// Source: OPENSSL_init_crypto(3), OPENSSL_INIT_NO_ATEXIT. Threads: any.
#include <dlfcn.h>

#include <cstdint>
#include <initializer_list>

namespace leasehold {

inline void keep_openssl_to_the_end() noexcept {
    constexpr std::uint64_t no_atexit = 0x0008'0000;
    for (const char* const name : {"libcrypto.so.3", "libcrypto.so.1.1"}) {
        void* const loaded = ::dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
        if (!loaded) continue;
        if (void* const found = ::dlsym(loaded, "OPENSSL_init_crypto")) {
            reinterpret_cast<int (*)(std::uint64_t, const void*)>(found)(no_atexit, nullptr);
        }
        ::dlclose(loaded);
    }
}

}  // namespace leasehold
