#pragma once
// The descriptors that a program inherits from this process.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace leasehold::testing {

// The number of sockets among them.
inline int inherited_sockets() {
    constexpr const char* command = "ls -l /proc/self/fd | grep -c 'socket:'";
    const std::unique_ptr<FILE, int (*)(FILE*)> said{::popen(command, "r"), &::pclose};
    std::array<char, 20> number{};
    if (!said || std::fgets(number.data(), number.size(), said.get()) == nullptr) return -1;
    return std::atoi(number.data());
}

}  // namespace leasehold::testing
