#pragma once
// A folder of a test's own, in the system's place for temporary files.
#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace leasehold::testing {

// Made, empty, and the caller's to remove.
inline std::string fresh_folder() {
    std::string path = (std::filesystem::temp_directory_path() / "leasehold-XXXXXX").string();
    if (!mkdtemp(path.data())) throw std::runtime_error("cannot make the folder " + path);
    return path;
}

// A folder that goes with this object.
class folder {
public:
    folder() = default;
    ~folder() { std::filesystem::remove_all(path_); }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;

    const std::string& path() const noexcept { return path_; }
    std::filesystem::path operator/(const char* name) const {
        return std::filesystem::path{path_} / name;
    }

private:
    const std::string path_ = fresh_folder();
};

}  // namespace leasehold::testing
