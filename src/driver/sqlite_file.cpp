#include "driver/sqlite_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "leasehold/error.hpp"

namespace leasehold::sqlite {

std::string folder_of(const std::string& path) {
    const auto slash = path.rfind('/');
    if (slash == std::string::npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

std::string path_of(std::string_view url) {
    constexpr std::string_view scheme = "sqlite:";
    if (!url.starts_with(scheme)) {
        throw error(errc::invalid_argument, "a SQLite URL is written sqlite:PATH");
    }
    url.remove_prefix(scheme.size());
    if (url.starts_with("//")) url.remove_prefix(2);  // sqlite:///absolute/path
    if (url.empty() || url == ":memory:" || url.find('\0') != std::string_view::npos) {
        throw error(
            errc::invalid_argument,
            "a SQLite URL is written sqlite:PATH, with the path of a file that can be shared"
        );
    }
    if (url.find('?') != std::string_view::npos || url.back() == ' ') {
        throw error(
            errc::invalid_argument,
            "a SQLite URL has no options and no blank at its end: the file would have a name that "
            "nobody else opens"
        );
    }
    std::error_code has_no_folder;
    const auto whole = std::filesystem::absolute(url, has_no_folder);  // a program may chdir()
    return has_no_folder ? std::string{url} : whole.string();
}

void require_file(const std::string& path, bool may_create) {
    struct stat found {};
    if (stat(path.c_str(), &found) == 0) {
        if (S_ISREG(found.st_mode)) {
            // Beside each name is another log: a grant in one would be unknown under the other.
            if (found.st_nlink > 1) {
                throw error(
                    errc::unsupported,
                    path +
                        " has several hard links, and programs that use different ones do not "
                        "see each other's locks; remove all but one, or use symbolic links"
                );
            }
            if (faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) == 0 || errno != EACCES) return;
            throw error(
                errc::permission_denied, path + " may not be read; check the file's permissions"
            );
        }
        throw error(errc::connection_failed, path + " is not a file; name a database file");
    }
    if (errno == EACCES) {
        throw error(
            errc::permission_denied, path + " may not be reached; check its folder's permissions"
        );
    }
    const std::string folder = folder_of(path);
    if (stat(folder.c_str(), &found) != 0) {
        throw error(
            errc::connection_failed,
            "the folder " + folder + " does not exist; make it, or name another file"
        );
    }
    if (!may_create) {
        throw error(
            errc::schema_missing, "there is no database " + path + " yet: run `leasehold migrate`"
        );
    }
    if (access(folder.c_str(), W_OK) != 0) {
        throw error(
            errc::read_only,
            "the folder " + folder +
                " may not be written; check its permissions, or name another file"
        );
    }
}

std::int64_t size_of_log(const std::string& path) {
    struct stat found {};
    return stat((path + "-wal").c_str(), &found) == 0 ? found.st_size : 0;
}

}  // namespace leasehold::sqlite
