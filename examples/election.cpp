// One leader among the processes that run this, which says where it can be reached; the others
// follow. Run it several times at once: election sqlite:demo.db HOST:PORT
#include <iostream>

#include "leasehold/driver/sqlite.hpp"
#include "leasehold/leasehold.hpp"

int main(int count, char** arguments) {
    using namespace std::chrono_literals;
    if (count != 3) {
        std::cerr << "usage: election sqlite:PATH ADDRESS\n";
        return 64;
    }
    try {
        leasehold::database db = leasehold::sqlite::open(arguments[1]);
        leasehold::migrate(db);
        leasehold::session session{db, {.name = "election"}};
        leasehold::election_settings settings;
        settings.on_lost = [](leasehold::fencing_token term, leasehold::loss_reason why) {
            std::cout << "term " << term.number << " ended: " << name_of(why) << '\n';
        };
        leasehold::leader_election election{session, "demo/leader", settings};
        if (auto leading = election.campaign_for(1s)) {
            leading->proclaim(arguments[2]);
            std::cout << "leading in term " << leading->token().number << '\n';
            // Work here until leading->lost() fires.
        }  // resigned
        leasehold::leader_watch watch{db, "demo/leader"};
        watch.next();
        std::cout << "leader: "
                  << (watch.leader() ? watch.leader()->metadata.value_or("?") : "none") << '\n';
    } catch (const leasehold::error& failure) {
        std::cerr << "election: " << failure.what() << '\n';
        return 1;
    }
}
