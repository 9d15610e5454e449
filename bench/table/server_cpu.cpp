#include "bench/table/server_cpu.hpp"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace leasehold::bench {
namespace {

// Fields 14 to 17 of /proc/PID/stat: its own, and of the children it has waited for.
double ticks_of(const std::string& process) {
    std::ifstream file{"/proc/" + process + "/stat"};
    std::string text;
    std::getline(file, text);
    const auto name_end = text.rfind(')');
    if (name_end == std::string::npos) return 0;  // it has just ended
    std::istringstream rest{text.substr(name_end + 2)};
    std::string skipped;
    for (int field = 3; field < 14; ++field) rest >> skipped;
    double all = 0;
    double ticks = 0;
    for (int field = 14; field < 18 && rest >> ticks; ++field) all += ticks;
    return all;
}

}  // namespace

double server_cpu_us(pid_t main_process) {
    const std::string main = std::to_string(main_process);
    double all = ticks_of(main);
    std::ifstream children{"/proc/" + main + "/task/" + main + "/children"};
    for (std::string each; children >> each;) all += ticks_of(each);
    return all * 1e6 / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace leasehold::bench
