#pragma once
// The doctor's questions, as far as the engines are alike. The other questions are in
// src/admin/<engine>/health_store.cpp.
#include <string>
#include <vector>

#include "admin/health_store.hpp"
#include "admin/sql_stores.hpp"
#include "leasehold/error.hpp"
#include "sql/sql_store.hpp"

namespace leasehold {

// The rights that a program needs on one table.
struct needed_rights {
    std::string table;  // as statements name it
    std::vector<std::string> verbs;
};

class sql_health_store : public health_store, protected sql_store {
public:
    // Empty if the engine has no more to say of them.
    std::vector<finding> examine_tables(connection&, const diagnosis_settings&) override {
        return {};
    }
    std::chrono::microseconds clock(connection& on) override;
    std::vector<std::string> shape(connection& on) override;
    std::vector<std::string> known_shape() const override;
    std::vector<index_maker> known_indexes() const override;
    std::vector<std::string> missing_rights(connection& on) override;
    session_counts count_sessions(connection& on) override;
    std::vector<long_hold> long_holds(
        connection& on, std::chrono::microseconds longer_than, int limit
    ) override;
    std::vector<long_hold> long_shares(
        connection& on, std::chrono::microseconds longer_than, int limit
    ) override;
    std::int64_t dead_holds(connection& on, std::chrono::microseconds longer_than) override;
    std::int64_t dead_shares(connection& on, std::chrono::microseconds longer_than) override;
    std::optional<session_info> session_of(connection& on, const session_id& id) override;
    std::optional<std::chrono::microseconds> closed_for(connection& on, const key& name) override;
    std::vector<waiting_queue> waiting_queues(connection& on, std::chrono::microseconds longer_than)
        override;
    std::optional<std::chrono::microseconds> usual_time(connection& on, const std::string& queue)
        override;
    std::vector<discarded_jobs> discarded(
        connection& on, std::chrono::microseconds within, std::int64_t at_most
    ) override;
    std::int64_t discarded_of(
        connection& on,
        const std::string& queue,
        std::chrono::microseconds within,
        std::int64_t at_most
    ) override;

protected:
    explicit sql_health_store(std::shared_ptr<const sql_dialect> how)
        : sql_store(std::move(how), admin_sql, "health"), shapes_(how_->of(admin_sql, "shape")) {}

    const statements& shapes_;

    // Empty if the engine knows no rights.
    virtual std::vector<needed_rights> needed() const { return {}; }
    virtual bool has_right(connection&, const std::string&, const std::string&) { return true; }
    // The rights that the block `grants` of the migrations gives a program.
    std::vector<needed_rights> granted() const;

    // Asks by `use`; a refusal becomes a finding.
    template <class Use>
    void look(std::vector<finding>& into, const char* at, Use&& use) const {
        try {
            use();
        } catch (const error& failure) {
            if (failure.connection_is_lost()) throw;
            into.push_back(not_looked_at(at, failure));
        }
    }

    // `remedy` names the option that the URL should have.
    static void add_transport(
        std::vector<finding>& found, transport how, const std::string& remedy
    );

    std::vector<long_hold> held_long(
        connection& on,
        const char* question,
        const char* count,
        std::chrono::microseconds longer_than,
        int limit
    ) const;

    static void add_connections(
        std::vector<finding>& found,
        std::int64_t used,
        std::int64_t all,
        const diagnosis_settings& settings,
        const std::string& whose = {},  // the server's own, or "user 'app'"
        const std::string& limit = "max_connections"
    );
};

}  // namespace leasehold
