// PostgreSQL proves by functions: what a caller may do with them, and what he cannot.
#include "conformance/proof_statement_suite.hpp"
#include "leasehold/migrate.hpp"

namespace leasehold::testing {
namespace {

class proof_function_suite : public proof_statement_suite {
protected:
    told_lease take(const std::string& name) {
        grants_.push_back(mutex{mine_, name}.try_acquire());
        return told_of(*grants_.back());
    }
    // The lock is one that another session has by now.
    told_lease take_and_lose(const std::string& name) {
        const told_lease lost = take(name);
        grants_.back()->release();
        take(name);
        return lost;
    }
    // The statement with the schema before the name of the function.
    static std::string in_schema(std::string statement, const std::string& schema) {
        return statement.insert(statement.find("SELECT ") + 7, schema + ".");
    }
    std::string refusal_of(const std::string& arguments) const {
        transaction tx = first_.begin();
        const auto thrown = thrown_by([&] { tx.execute("SELECT " + table("prove") + arguments); });
        return thrown ? thrown->sqlstate() : "not refused";
    }

    session mine_{first_, calm("mine")};
    std::vector<acquisition> grants_;
};

TEST_F(proof_function_suite, what_is_no_lease_and_no_job_is_an_argument_that_is_refused) {
    const std::string owner = "'0123456789abcdef0123456789abcdef'";
    for (const std::string& each :
         {"(NULL, " + owner + ", 1)",
          std::string{"('k', NULL, 1)"},
          std::string{"('k', 'abc', 1)"},
          std::string{"('k', '0123456789ABCDEF0123456789ABCDEF', 1)"},
          "('k', " + owner + ", NULL)",
          "('k', " + owner + ", 0)",
          std::string{"_job(NULL, 1)"},
          std::string{"_job(1, NULL)"},
          std::string{"_job(1, 0)"}}) {
        EXPECT_EQ(refusal_of(each), "22023") << each;
    }
    EXPECT_EQ(refusal_of("('k', " + owner + ", 1)"), "LH001");
    EXPECT_EQ(refusal_of("_job(0, 1)"), "LH001");
}

TEST_F(proof_function_suite, a_refusal_names_the_lock_and_aborts_the_transaction) {
    const told_lease lost = take_and_lose(fresh("k"));
    transaction tx = begin_with_a_write();
    const auto thrown = thrown_by([&] { tx.execute(page_.lock, lost.values()); });
    ASSERT_TRUE(thrown);
    EXPECT_EQ(thrown->sqlstate(), "LH001");
    EXPECT_NE(thrown->server_message().find(lost.key), std::string::npos)
        << thrown->server_message();
    EXPECT_TRUE(thrown_by([&] { tx.execute("SELECT 1"); }));
}

// A place of the caller's own, whose tables have the names of ours, and say that a lost lock is
// held.
class hostile_place {
public:
    hostile_place(transaction& tx, std::string name, std::string prefix, const std::string& schema)
        : tx_(tx), name_(std::move(name)), prefix_(std::move(prefix)), schema_(schema) {
        for (const char* each : {"lock", "holder", "job"}) {
            tx_.execute(
                "CREATE TABLE " + own(each) + " (LIKE " + ours(each) + " INCLUDING DEFAULTS)"
            );
        }
    }
    void claim_lock(const told_lease& lost) const {
        tx_.execute(
            "INSERT INTO " + own("lock") +
                " (lock_key, owner, fence, node_info, reentrant_count, changed_at, kind)"
                " VALUES (convert_to($1, 'UTF8'), decode($2, 'hex'), $3, '', 1, now(), 1)",
            lost.values()
        );
    }
    void claim_job(job_id ended, job_id running) const {
        tx_.execute(
            "INSERT INTO " + own("job") +
                " SELECT (made.j).* FROM (SELECT"
                " jsonb_populate_record(j, jsonb_build_object('id', $1::bigint)) AS j FROM " +
                ours("job") + " j WHERE id = $2) AS made",
            {ended, running}
        );
    }
    // Everything equals everything.
    void add_operators() const {
        for (const std::string type : {"bytea", "bigint", "integer"}) {
            const std::string equal = name_ + ".equal_" + type;
            tx_.execute(
                "CREATE FUNCTION " + equal + "(" + type + ", " + type +
                ") RETURNS boolean LANGUAGE sql AS 'SELECT true'"
            );
            tx_.execute(
                "CREATE OPERATOR " + name_ + ".= (FUNCTION = " + equal + ", LEFTARG = " + type +
                ", RIGHTARG = " + type + ")"
            );
        }
    }

private:
    std::string own(const char* table) const { return name_ + "." + prefix_ + table; }
    std::string ours(const char* table) const { return schema_ + "." + prefix_ + table; }

    transaction& tx_;
    const std::string name_, prefix_, schema_;
};

TEST_F(proof_function_suite, whatever_the_search_path_is_our_tables_are_read) {
    const told_lease lost = take_and_lose(fresh("k")), held = take(fresh("k"));
    enqueue_many(2);
    const claimed_job ended = one_.claim_one(), running = one_.claim_one();
    EXPECT_TRUE(one_.complete(ended));
    const database owner = current().open_as_owner({});
    const std::string schema = owner.execute("SELECT current_schema()").rows.at(0).text(0);
    const std::string hostile = table("hostile");
    const std::string of_lock = in_schema(page_.lock, schema);
    const std::string of_job = in_schema(page_.job, schema);
    for (const std::string& path :
         {std::string{"pg_temp, public"},
          hostile + ", pg_catalog",
          hostile + ", public",
          std::string{"pg_catalog"},
          std::string{"''"}}) {
        for (const bool is_of_job : {false, true}) {
            transaction tx = owner.begin();
            tx.execute("CREATE SCHEMA " + hostile);
            for (const std::string& name : {std::string{"pg_temp"}, hostile}) {
                const hostile_place place{tx, name, table(""), schema};
                place.claim_lock(lost);
                place.claim_job(ended.id, running.id);
                if (name == hostile) place.add_operators();
            }
            tx.execute("SET LOCAL search_path = " + path);
            EXPECT_TRUE(is_proved(tx, of_lock, held.values())) << path;
            EXPECT_TRUE(is_proved(tx, of_job, {running.id, running.token.number})) << path;
            EXPECT_FALSE(
                is_of_job ? is_proved(tx, of_job, {ended.id, running.token.number})
                          : is_proved(tx, of_lock, lost.values())
            ) << path;
        }
    }
}

// The page: prove behind the last savepoint.
TEST_F(proof_function_suite, a_rollback_to_a_savepoint_gives_up_the_lock_on_the_row) {
    session heir{second_, calm("heir")};
    for (const bool is_behind : {false, true}) {
        session dead{first_, calm("dead")};
        const std::string name = fresh("k");
        auto held = mutex{dead, name}.try_acquire();
        const parameters values = told_of(*held).values();
        transaction tx = first_.begin();
        tx.execute("SAVEPOINT before");
        EXPECT_TRUE(is_proved(tx, page_.lock, values));
        tx.execute("ROLLBACK TO SAVEPOINT before");
        if (is_behind) {
            EXPECT_TRUE(is_proved(tx, page_.lock, values));
        }
        expire(dead);
        if (is_behind) {
            expect_kept_from(mutex{heir, name}, [&] { tx.commit(); });
        } else {
            EXPECT_TRUE(is_granted(mutex{heir, name}.acquire_for(20s))) << "tx is still open";
        }
    }
}

TEST_F(proof_function_suite, a_savepoint_that_is_released_keeps_the_lock_on_the_row) {
    session dead{first_, calm("dead")}, heir{second_, calm("heir")};
    const std::string name = fresh("k");
    auto held = mutex{dead, name}.try_acquire();
    transaction tx = first_.begin();
    tx.execute("SAVEPOINT before");
    EXPECT_TRUE(is_proved(tx, page_.lock, told_of(*held).values()));
    tx.execute("RELEASE SAVEPOINT before");
    expire(dead);
    expect_kept_from(mutex{heir, name}, [&] { tx.commit(); });
}

// The caller's rights are what the function does its work with.
TEST_F(proof_function_suite, a_caller_without_rights_learns_nothing_of_the_lock) {
    const told_lease held = take(fresh("k"));
    const std::string program =
        first_.execute("SELECT quote_ident(current_user)").rows.at(0).text(0);
    const database owner = current().open_as_owner({});
    const std::string rights = " UPDATE ON " + table("lock");
    owner.execute("REVOKE" + rights + " FROM " + program);
    const auto thrown = thrown_by([&] { is_proved(held); });
    owner.execute("GRANT" + rights + " TO " + program);
    ASSERT_TRUE(thrown);
    EXPECT_EQ(thrown->code(), errc::permission_denied) << thrown->what();
    EXPECT_TRUE(is_proved(held));
}

// The schema is of its own, and names are not in lower case.
TEST_F(proof_function_suite, the_functions_are_named_as_the_tables_are) {
    const std::string odd = "Odd" + identity::random().text().substr(0, 12);
    database_settings of_schema;
    of_schema.names.schema = odd;
    const database own = current().open_as_owner(of_schema);
    migrate(own);
    {
        session one{own, calm("one")};
        auto held = mutex{one, fresh("k")}.try_acquire();
        transaction tx = own.begin();
        tx.execute("SET LOCAL search_path = pg_catalog");
        const documented_proofs page =
            read_documented_proofs(engine::postgres, own.settings().names.prefix);
        const std::string statement = in_schema(page.lock, '"' + odd + '"');
        EXPECT_TRUE(is_proved(tx, statement, told_of(*held).values()));
    }
    own.execute("DELETE FROM \"" + odd + "\"." + own.settings().names.prefix + "session");
    migrate_down(own, 0);
    own.execute("DROP SCHEMA \"" + odd + '"');
}

}  // namespace
}  // namespace leasehold::testing
