#include "soak/signals.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <system_error>
#include <utility>

namespace leasehold::soak {

signal_page::page* signal_page::map(const std::filesystem::path& file, int flags) {
    const auto fail = [&] {
        throw std::system_error(errno, std::generic_category(), file.string());
    };
    const int opened = ::open(file.c_str(), O_RDWR | O_CLOEXEC | flags, 0600);
    if (opened < 0 || ftruncate(opened, sizeof(page)) != 0) fail();
    void* const mapped = mmap(nullptr, sizeof(page), PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0);
    if (mapped == MAP_FAILED) fail();
    close(opened);
    return static_cast<page*>(mapped);
}

signal_page signal_page::create(const std::filesystem::path& file) {
    return signal_page{new (map(file, O_CREAT | O_EXCL)) page{}};
}

signal_page signal_page::open(const std::filesystem::path& file) {
    return signal_page{map(file, 0)};
}

signal_page::signal_page(signal_page&& other) noexcept
    : shared_(std::exchange(other.shared_, nullptr)) {}

signal_page::~signal_page() {
    if (shared_) munmap(shared_, sizeof(page));
}

}  // namespace leasehold::soak
