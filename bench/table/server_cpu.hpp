#pragma once
// The CPU a server has used: its main process, all its children, and those that have ended.
#include <sys/types.h>

namespace leasehold::bench {

// The time in microseconds; as exact as the kernel's ticks, 10 ms.
double server_cpu_us(pid_t main_process);

}  // namespace leasehold::bench
