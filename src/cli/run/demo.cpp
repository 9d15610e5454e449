// `leasehold demo`: two processes contend for a key, in a database file that goes away. Each
// process is this tool with the hidden option --as; it does what its standard input asks for.
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/exit_status.hpp"
#include "cli/open.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/run/events.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/database.hpp"
#include "leasehold/job_queue.hpp"
#include "leasehold/migrate.hpp"
#include "leasehold/mutex.hpp"
#include "leasehold/session.hpp"

namespace leasehold::cli {
namespace {

using std::chrono::seconds;

constexpr seconds ttl{3};
constexpr const char* url = "sqlite:demo.db";  // of the folder that the processes begin in
constexpr std::string_view folder_name = "leasehold-demo-";

// ---- a process of the demonstration

// The invoice is a job, which the transaction of the proof enqueues.
std::string write_invoice(const database& db, lease& held) {
    transaction tx = db.begin();
    try {
        held.verify_in(tx);
    } catch (const error& failed) {
        if (failed.code() != errc::lease_lost) throw;
        return std::string{"is refused: "} + failed.what();
    }
    job_queue{db, "invoices"}.enqueue_in(tx, {});
    tx.commit();
    return "writes an invoice";
}

int act(const global_options& options) {
    const auto here = std::filesystem::current_path().filename().string();
    if (options.url != url || !here.starts_with(folder_name)) {
        throw usage_failure("--as is for the processes of `leasehold demo` alone");
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // NOLINT(*-vararg)
    const database db = open_database(options);
    migrate(db);
    session mine{db, {.ttl = ttl}};
    mutex invoices{mine, "invoices"};
    std::optional<lease> held;
    std::optional<transaction> writes;
    print_line("is ready");
    std::string asked;
    while (std::cout.flush() && std::getline(std::cin, asked)) {
        if (asked == "lock") {
            held = *invoices.acquire();
            print_line("has the key, token " + std::to_string(held->token().number));
        } else if (asked == "unlock") {
            held.reset();
            print_line("gives the key back");
        } else if (asked == "write" && held) {
            print_line(write_invoice(db, *held));
        } else if (asked == "keep others from writing") {
            job_queue{db, "invoices"}.enqueue_in(writes.emplace(db.begin()), {});
            print_line("keeps them");
        } else if (asked == "let others write") {
            writes.reset();
            print_line("lets them");
        }
    }
    return exit_status::done;
}

// ---- the demonstration

volatile std::sig_atomic_t stopped_by = 0;

void require_going_on() {
    if (stopped_by == 0) return;
    const int status = exit_status::by_signal + stopped_by;
    throw failure(status, "interrupted", "the demonstration was interrupted");
}

// Without leasehold's own variables, which are about other databases.
std::vector<char*> environment_of_actors() {
    std::vector<char*> kept;
    for (char** each = environ; *each; ++each) {
        if (!std::string_view{*each}.starts_with("LEASEHOLD_")) kept.push_back(*each);
    }
    kept.push_back(nullptr);
    return kept;
}

class actor {
public:
    actor(const std::string& name, const std::filesystem::path& folder, bool is_json) {
        pipe_ends asking, answering;
        asks_ = std::move(asking.writing);
        answers_ = std::move(answering.reading);
        std::vector<std::string> words{"leasehold", "--url", url, "demo", "--as", name};
        if (is_json) words.emplace_back("--json");
        std::vector<char*> arguments;
        arguments.reserve(words.size() + 1);
        for (std::string& each : words) arguments.push_back(each.data());
        arguments.push_back(nullptr);
        auto variables = environment_of_actors();
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
        posix_spawn_file_actions_adddup2(&actions, asking.reading.number(), STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&actions, answering.writing.number(), STDOUT_FILENO);
        errno = posix_spawn(
            &process_, "/proc/self/exe", &actions, nullptr, arguments.data(), variables.data()
        );
        posix_spawn_file_actions_destroy(&actions);
        if (errno != 0) fail("posix_spawn of /proc/self/exe");
    }
    ~actor() { kill_it(); }
    actor(const actor&) = delete;
    actor& operator=(const actor&) = delete;

    void ask(const std::string& what) {
        const std::string line = what + '\n';
        if (write(asks_.number(), line.data(), line.size()) < 0) failed();
    }

    std::string answer() {
        for (auto end = heard_.find('\n'); end == std::string::npos; end = heard_.find('\n')) {
            require_going_on();
            constexpr int longest_wait_ms = 60'000;
            pollfd ready{answers_.number(), POLLIN, 0};
            const int some = poll(&ready, 1, longest_wait_ms);
            char bytes[512];
            const auto size = some > 0 ? read(answers_.number(), bytes, sizeof bytes) : 0;
            if (size <= 0) failed();
            heard_.append(bytes, static_cast<std::size_t>(size));
        }
        const auto end = heard_.find('\n');
        std::string line = heard_.substr(0, end);
        heard_.erase(0, end + 1);
        return line;
    }
    std::string asked(const std::string& what) {
        ask(what);
        return answer();
    }

    void stop() const {
        kill(process_, SIGSTOP);
        while (waitpid(process_, nullptr, WUNTRACED) < 0 && errno == EINTR) require_going_on();
    }
    void go_on() const { kill(process_, SIGCONT); }
    void kill_it() {
        if (process_ <= 0) return;
        kill(process_, SIGKILL);
        while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
        }
        process_ = 0;
    }

private:
    [[noreturn]] static void failed() {
        require_going_on();
        throw failure(
            exit_status::failed, "demo", "a process of the demonstration does not answer"
        );
    }

    pid_t process_ = 0;
    descriptor asks_, answers_;
    std::string heard_;
};

class stage {
public:
    explicit stage(bool is_json) : is_json_(is_json) {}

    void scene(const std::string& title) const {
        if (!is_json_) print_line("\n" + styled(title, style::bold));
    }
    void show(const std::string& name, const std::string& what) const {
        const auto since = local_clock::now() - began_;
        const auto at = std::chrono::duration_cast<std::chrono::microseconds>(since);
        if (is_json_) {
            print_json({{"seconds", seconds_of(at)}, {"process", name}, {"what", what}});
        } else {
            const auto tenths = at.count() / 100'000;
            std::string when = std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10);
            when.insert(0, when.size() < 5 ? 5 - when.size() : 0, ' ');
            print_line(when + " s  " + name + "  " + what);
        }
        std::cout.flush();
        require_written();
    }

private:
    const bool is_json_;
    const local_clock::time_point began_ = local_clock::now();
};

void contend(const stage& on, actor& a, actor& b) {
    on.scene("Two processes want one key");
    on.show("A", a.asked("lock"));
    b.ask("lock");
    on.show("B", "waits");
    on.show("A", a.asked("unlock"));
    on.show("B", b.answer());
}

void die(const stage& on, actor& a, actor& b) {
    on.scene("The holder is killed");
    a.ask("lock");
    on.show("A", "waits");
    b.kill_it();
    on.show("B", "is killed (kill -9); its session ends when its ttl of 3 s is over");
    on.show("A", a.answer());
}

void pause(const stage& on, actor& a, actor& b) {
    on.scene("The holder is paused, and does not know it");
    // A process that stops while it writes would keep the file locked.
    b.asked("keep others from writing");
    a.stop();
    b.asked("let others write");
    on.show("A", "is paused (kill -STOP)");
    b.ask("lock");
    on.show("B", "waits");
    on.show("B", b.answer());
    on.show("B", b.asked("write"));
    a.ask("write");
    a.go_on();
    on.show("A", "goes on, and writes, as if it had the key");
    on.show("A", a.answer());
}

constexpr const char* next_steps =
    "\n"
    "A asked for a proof of its lease in the transaction of its write, and was refused.\n"
    "\n"
    "Try next, in two terminals:\n"
    "  export LEASEHOLD_URL=sqlite:$HOME/leasehold.db\n"
    "  leasehold migrate\n"
    "  leasehold lock nightly --wait 2m -- sleep 20\n"
    "  leasehold locks";

class temporary_folder {
public:
    temporary_folder() {
        const auto name = std::string{folder_name} + "XXXXXX";
        std::string made = std::filesystem::temp_directory_path() / name;
        if (!mkdtemp(made.data())) fail("mkdtemp");
        path_ = made;
    }
    ~temporary_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;
    const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
};

void heed_signals() {
    struct sigaction interrupts {};
    interrupts.sa_handler = [](int number) { stopped_by = number; };
    for (const int each : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction before {};
        sigaction(each, nullptr, &before);
        const bool is_nohup = each == SIGHUP && before.sa_handler == SIG_IGN;
        if (!is_nohup) sigaction(each, &interrupts, nullptr);
    }
    std::signal(SIGPIPE, SIG_IGN);
}

int run_demo(bool is_json) {
    heed_signals();
    const temporary_folder folder;
    const stage on{is_json};
    if (!is_json) {
        print_line("The database: " + printable((folder.path() / "demo.db").string()));
        std::cout.flush();
    }
    actor a{"A", folder.path(), is_json};
    a.answer();
    {
        actor b{"B", folder.path(), is_json};
        b.answer();
        contend(on, a, b);
        die(on, a, b);
    }
    actor b{"B", folder.path(), is_json};
    b.answer();
    pause(on, a, b);
    if (!is_json) print_line(next_steps);
    return exit_status::done;
}

}  // namespace

command add_demo(CLI::App& tool, const global_options& options) {
    CLI::App* const parser = tool.add_subcommand("demo", "Show a lock at work, in ten seconds");
    auto role = std::make_shared<std::string>();
    parser->add_option("--as", *role)->group("");  // hidden
    parser->footer(
        "Two processes of this tool contend for a key; one is killed, one is paused and refused.\n"
        "They use a new SQLite file in the folder for temporary files, and the file goes away in\n"
        "the end. The demonstration needs no database and no setting, and touches none.\n"
        "\n"
        "Examples:\n"
        "  leasehold demo\n"
        "\n"
        "Exit status: 0; otherwise see `leasehold --help`.\n"
    );
    return {parser, [role, &options] {
                return role->empty() ? run_demo(options.is_json) : act(options);
            }};
}

}  // namespace leasehold::cli
