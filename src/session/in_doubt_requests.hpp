#pragma once
// Requests that lost their answers, and their outcome: each is released by owner id, repeatedly,
// until no part of it can be under way any more.
//
// | a request in doubt …                   | becomes                                            |
// |----------------------------------------|----------------------------------------------------|
// | was asked about in time                | nothing: goes on                                   |
// | was asked about after its time         | released, or not_granted where nothing was found   |
// | is there when the session ends         | the same, with one release; given_up where that    |
// |                                        | has no answer, or nobody is asked any more         |
// | comes after that                       | given_up with the session's last reference         |
//
// Threads: not safe.
#include <cstddef>
#include <optional>
#include <vector>

#include "database/database.hpp"

namespace leasehold {

struct in_doubt_request {
    key name;
    owner_id owner;
    local_clock::time_point until;
    lock_kind kind;
    std::optional<owner_id> then{};  // released when the first has been, not before
    local_clock::time_point not_before{};
    std::optional<local_clock::time_point> told_at{};  // nullopt: nobody was told of it
    bool was_there = false;                            // a release of it found something

    void release(database::implementation& within, connection& on, store_set& stores);
    void tell_settled(const database::implementation& within) const;
    void tell_settled(const database::implementation& within, event_reason how) const;
};

class in_doubt_requests {
public:
    using list = std::vector<in_doubt_request>;

    bool is_empty() const noexcept { return all_.empty(); }
    // True if one was ever added.
    bool were_any() const noexcept { return were_any_; }
    const list& all() const noexcept { return all_; }
    bool will_release(const owner_id& owner) const;

    void add(in_doubt_request what);
    list take_all() noexcept;
    // The requests to ask about now, in that order. The next call is note_asked() or take_all().
    list due(local_clock::time_point now);
    // Notes that the first `asked` of the `due` requests were asked about, and that the next one
    // failed, if any has. Takes out those of them that are over.
    list note_asked(
        const list& due, std::size_t asked, local_clock::time_point now, bool has_failed
    );

private:
    list all_;
    bool were_any_ = false;
};

}  // namespace leasehold
