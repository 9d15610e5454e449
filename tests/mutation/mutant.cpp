// A build with LEASEHOLD_SQL_MUTANTS calls this before it makes a statement. tests/mutation/run
// sets two variables:
// - LEASEHOLD_TEST_MUTANT: a file with the text of a block of SQL, a zero byte, and the text that
//   takes its place.
// - LEASEHOLD_TEST_BLOCKS: a file to which the text of each block that is used is appended, with a
//   zero byte behind it.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

namespace leasehold {
namespace {

struct mutant {
    std::string original{};
    std::string changed{};
};

mutant read_mutant() {
    const char* const path = std::getenv("LEASEHOLD_TEST_MUTANT");
    if (!path) return {};
    std::ifstream file{path, std::ios::binary};
    if (!file) throw std::runtime_error(std::string{path} + " cannot be read");
    const std::string both{std::istreambuf_iterator<char>{file}, {}};
    const auto between = both.find('\0');
    if (between == std::string::npos) throw std::runtime_error(std::string{path} + ": no mutant");
    return {both.substr(0, between), both.substr(between + 1)};
}

// One write for each block: forked processes write into the same file.
void note(std::string_view text) {
    static const char* const path = std::getenv("LEASEHOLD_TEST_BLOCKS");
    if (!path) return;
    const int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    const std::string noted = std::string{text} + '\0';
    const bool is_noted =
        file >= 0 && write(file, noted.data(), noted.size()) == static_cast<ssize_t>(noted.size());
    if (file >= 0) close(file);
    if (!is_noted) throw std::runtime_error(std::string{path} + " cannot be written");
}

}  // namespace

std::string_view mutant_of(std::string_view text);

std::string_view mutant_of(std::string_view text) {
    static const mutant planted = read_mutant();
    note(text);
    return !planted.original.empty() && text == planted.original ? planted.changed : text;
}

}  // namespace leasehold
