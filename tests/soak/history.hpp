#pragma once
// The operations of the processes of a soak run, in one clock: JSON lines, one file per process.
//
// Every operation leaves an `invoke` before anything is sent and its outcome after the answer came.
// An invoke without an outcome, because its process was killed, counts as unknown. Times are
// local_clock's, CLOCK_BOOTTIME, which all processes of one machine share, so that the order of
// events in different processes is known exactly.
//
// Threads: a writer belongs to one thread.
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold::soak {

enum class operation {
    session,  // a session was opened
    acquire,  // of a key; the grant is known by process and id
    belief,   // note: believed held until then; fail: known to be lost
    append,   // to the key's list, in the transaction that proves the lease
    control,  // read, work, write back, without proof
    release,
    force,  // a key freed by force from its holder; token: of the victim
    fault,  // injected; number: the process it hit, detail: what
    drain,  // note: from here on there are no more faults
    // The contents of the tables in the end:
    entry,    // process, id: of the append; number: its position in the list
    length,   // number: of the list, counted by the database
    counter,  // number: written back under proof
    value,    // number: written back without proof
    // Things that several may have at once, and rows with a version (see shares.hpp):
    take,    // number: its weight, token: of the grant
    prove,   // a transaction that proves; number: what it writes, or read
    proved,  // note, just before the commit of `prove` is sent; number: since when it was proved
    yield,   // given back
    proof,   // process, id: of the `prove` that committed; number: what it wrote, or read
    state,   // number, token: of the row in the end, and its version
    // Jobs (see jobs/job_facts.hpp); number: the job, token: of its claim, grant: of the run
    enqueue,     // grant: its ordering key, token: its unique key; number: known with the answer
    run,         // a handler, from its start to its return; grant: its ordering key
    effect,      // a transaction that completes the job
    completing,  // note, just before the commit of `effect` is sent
    cancel,      // detail: what came of it
    done,        // process, id: of the `effect` that committed
    left,        // in the end; detail: how it stands
};

enum class phase { invoke, ok, fail, unknown, note };

struct record {
    std::int64_t at_ns = 0;
    int process = 0;      // 0: the conductor
    std::int64_t id = 0;  // of the operation, within its process
    operation what{};
    phase when{};
    int key = -1;
    std::int64_t grant = 0;  // id of the acquire this belongs to
    std::int64_t token = 0;
    std::int64_t number = 0;
    std::int64_t until_ns = 0;  // the lease's deadline, as its holder knew it just then
    std::string detail{};

    bool operator==(const record&) const = default;
};

std::string_view name_of(operation what) noexcept;
std::string_view name_of(phase when) noexcept;

std::string to_line(const record& what);
// Throws std::runtime_error for anything to_line did not write.
record from_line(const std::string& line);

std::int64_t now_ns() noexcept;

class history_writer {
public:
    history_writer(const std::filesystem::path& folder, int process);
    history_writer(const history_writer&) = delete;
    history_writer& operator=(const history_writer&) = delete;
    ~history_writer();

    // Handed to the kernel before this returns, so that a killed process loses nothing. Fills in
    // the process, where it is not given, and the time.
    void write(record what);

    std::int64_t next_id() noexcept { return ++last_id_; }

private:
    const int process_;
    int file_;
    std::int64_t last_id_ = 0;
};

// All files of the folder, in order of time. A last line cut off by a kill is left out.
std::vector<record> read_history(const std::filesystem::path& folder);

}  // namespace leasehold::soak
