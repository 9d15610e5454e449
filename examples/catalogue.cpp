// Several processes build one catalogue of the files named on standard input: which file, how many
// lines. Each entry is worked out under a lock and written in the transaction that proves it.
//
//   git ls-files | catalogue sqlite:demo.db worker-1 [--pause-at N | --die-at N]
//   catalogue --query sqlite:demo.db 'SELECT count(*) FROM catalogue'
//
// --pause-at N stops the process (SIGSTOP) while it holds the lock, between reading and writing its
// Nth entry; --die-at N kills it there (SIGKILL). examples/quickstart shows what happens then.
#include <csignal>
#include <fstream>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "leasehold/driver/sqlite.hpp"
#include "leasehold/leasehold.hpp"

namespace {

using namespace std::chrono_literals;

struct job {
    std::string name;  // of this worker
    std::vector<std::string> files;
    int pause_at = 0;
    int die_at = 0;
};

// The first file nobody has catalogued yet, or nothing.
std::string next_file(leasehold::database& db, const job& mine) {
    leasehold::transaction tx = db.begin();
    std::set<std::string> done;
    for (const auto& each : tx.execute("SELECT file FROM catalogue").rows)
        done.insert(each.text(0));
    for (const auto& file : mine.files) {
        if (!done.contains(file)) return file;
    }
    return "";
}

int count_lines(const std::string& file) {
    std::ifstream in{file};
    int lines = 0;
    for (std::string line; std::getline(in, line);) ++lines;
    return lines;
}

// One entry. False when there is nothing left to do.
bool catalogue_one(leasehold::database& db, leasehold::mutex& turn, const job& mine, int number) {
    auto lease = turn.acquire();
    const std::string file = next_file(db, mine);
    if (file.empty()) return false;
    const int lines = count_lines(file);
    if (number == mine.pause_at) {
        std::cout << mine.name << " is paused while it holds token " << lease->token().number
                  << ", about to write " << file << std::endl;
        // When the session's heartbeat is not writing: all of the process stands still, and a lock
        // of the file that it had would keep everybody out, not only this lease.
        db.begin().rollback();
        std::raise(SIGSTOP);
    }
    if (number == mine.die_at) {
        std::cout << mine.name << " is killed while it holds token " << lease->token().number
                  << std::endl;
        std::raise(SIGKILL);
    }
    leasehold::transaction tx = db.begin();
    tx.execute(
        "INSERT INTO catalogue (file, lines, worker, token) VALUES (?, ?, ?, ?)",
        {file, lines, mine.name, lease->token().number}
    );
    lease->verify_in(tx);
    tx.commit();
    return true;
}

int work(const std::string& url, const job& mine) {
    leasehold::database db = leasehold::sqlite::open(url);
    leasehold::session session{db, {.name = mine.name, .ttl = 6s}};
    leasehold::mutex turn{session, "catalogue", {.min_poll = 1ms, .max_poll = 20ms}};
    {
        leasehold::transaction tx = db.begin();
        tx.execute(
            "CREATE TABLE IF NOT EXISTS catalogue "
            "(file TEXT, lines INTEGER, worker TEXT, token INTEGER)"
        );
        tx.commit();
    }
    int number = 1;
    while (catalogue_one(db, turn, mine, number)) ++number;
    std::cout << mine.name << " wrote " << number - 1 << " entries" << std::endl;
    return 0;
}

// Prints the first number of the answer.
int query(const std::string& url, const char* sql) {
    leasehold::transaction tx = leasehold::sqlite::open(url).begin();
    std::cout << tx.execute(sql).rows.at(0).integer(0) << '\n';
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    if (count == 4 && std::string_view{arguments[1]} == "--query") {
        return query(arguments[2], arguments[3]);
    }
    if (count != 3 && count != 5) {
        std::cerr << "usage: catalogue sqlite:PATH NAME [--pause-at N | --die-at N] < files\n";
        return 64;
    }
    job mine{arguments[2], {}, 0, 0};
    if (count == 5) {
        const std::string option = arguments[3];
        (option == "--die-at" ? mine.die_at : mine.pause_at) = std::stoi(arguments[4]);
    }
    for (std::string file; std::getline(std::cin, file);) mine.files.push_back(file);
    try {
        return work(arguments[1], mine);
    } catch (const leasehold::error& failure) {
        const bool is_loss = failure.code() == leasehold::errc::lease_lost ||
                             failure.code() == leasehold::errc::session_lost;
        std::cout << mine.name << " was refused: " << failure.what() << std::endl;
        return is_loss ? 3 : 1;
    }
}
