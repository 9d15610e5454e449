// Option files of MySQL's clients: a refusal shows no value of the file.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "driver/mysql_option_file.hpp"
#include "fuzz.hpp"

namespace leasehold::fuzz {

void try_text(std::string_view text) {
    static const int file = memfd_create("options", 0);
    const std::string all = "[client]\npassword = Zq7secretQz\n" + std::string{text};
    require(ftruncate(file, 0) == 0, "a file can be emptied");
    const auto written = pwrite(file, all.data(), all.size(), 0);
    require(written == static_cast<ssize_t>(all.size()), "a file can be written");
    require(fchmod(file, 0600) == 0, "a file can be closed to others");
    try {
        for (const auto& [name, value] :
             mysql::read_option_file("/proc/self/fd/" + std::to_string(file))) {
            require(name.find('_') == std::string::npos, "names have - for _");
        }
    } catch (const error& refused) {
        require(
            std::string_view{refused.what()}.find("Zq7secretQz") == std::string_view::npos,
            "it is kept"
        );
    }
}

}  // namespace leasehold::fuzz
