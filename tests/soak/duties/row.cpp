// A row that is claimed by its version, changed once or twice, and given back.
#include "soak/duties/workplace.hpp"
#include "soak/shares.hpp"

namespace leasehold::soak {
namespace {

class rows : public duty {
public:
    explicit rows(workplace& at) : at_(at), claims_(at.tables().shares().mapping()) {}

    void run() override {
        record what;
        what.what = operation::prove;
        what.key = share_of(share_kind::row, at_.between(0, shares_per_kind - 1));
        std::optional<versioned_row> mine;
        std::int64_t claim = 0;
        const phase outcome = at_.step(what, [&](record& made) {
            claim = made.id;
            transaction tx = at_.database().begin();
            mine = claims_.try_claim_in(tx, {made.key});
            if (!mine) return phase::fail;
            note(tx, made, mine->version, no_change);
            tx.commit();
            return phase::ok;
        });
        if (outcome != phase::ok) return;  // or its row is void
        at_.stay(place::holding, 5, 50);
        what.grant = claim;
        std::int64_t number = mine->columns.integer(0);
        if (at_.one_in(3) && !change(what, *mine, ++number, false)) return;
        change(what, *mine, ++number, true);
    }

private:
    void note(transaction& tx, record& made, std::int64_t version, std::int64_t number) {
        made.token = version;
        made.number = number;
        at_.tables().shares().note_proof(
            tx, made.key, version, at_.given().process, made.id, number
        );
    }

    bool change(const record& what, versioned_row& mine, std::int64_t number, bool is_last) {
        const phase outcome = at_.step(what, [&](record& made) {
            transaction tx = at_.database().begin();
            const assignments to{{"number", number}};
            const change_outcome came_to =
                is_last ? claims_.release_in(tx, mine, to) : claims_.update_in(tx, mine, to);
            if (came_to != change_outcome::done) {
                made.detail = came_to == change_outcome::lost ? "refused" : "busy";
                return phase::fail;
            }
            note(tx, made, mine.version, number);
            if (at_.one_in(3)) at_.linger_in_transaction();
            tx.commit();
            return phase::ok;
        });
        return outcome == phase::ok;
    }

    workplace& at_;
    const versioned_claim claims_;
};

}  // namespace

std::unique_ptr<duty> row_duty(workplace& at) {
    return std::make_unique<rows>(at);
}

}  // namespace leasehold::soak
