// The doctor's findings about a setting that a whole PostgreSQL server has. CTest gives these a
// server of their own, as upkeep_own.postgres: its file of settings is in its data folder, and
// nobody is let in as a superuser.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "leasehold/driver/postgres.hpp"
#include "leasehold/migrate.hpp"
#include "upkeep/doctor.hpp"

namespace leasehold::testing {
namespace {

std::string given(const char* name) {
    const char* const value = std::getenv(name);
    if (!value) throw std::runtime_error(std::string{name} + " is not set: run by tests/run");
    return value;
}

class own_server : public ::testing::Test {
protected:
    own_server() { migrate(db_); }
    ~own_server() override {
        std::filesystem::resize_file(file_, size_);
        reload();
    }

    // The last line of a setting counts.
    void set(const std::string& line) const {
        std::ofstream{file_, std::ios::app} << line << '\n';
        reload();
    }
    static void reload() {
        const auto pid = static_cast<pid_t>(std::stol(given("LEASEHOLD_TEST_POSTGRES_PID")));
        EXPECT_EQ(::kill(pid, SIGHUP), 0);
    }

    const place here_;
    const database db_ = here_.open();
    const std::filesystem::path file_ = given("LEASEHOLD_TEST_POSTGRES_DATA") + "/postgresql.conf";
    const std::uintmax_t size_ = std::filesystem::file_size(file_);
};

TEST_F(own_server, that_removes_nothing_dead_is_told) {
    EXPECT_FALSE(find(diagnose(db_), "no_vacuum"));
    set("autovacuum = off");
    std::optional<finding> found;
    ASSERT_TRUE(eventually([&] { return (found = find(diagnose(db_), "no_vacuum")).has_value(); }));
    EXPECT_EQ(found->severity, severity::warning);
    EXPECT_EQ(found->what, "autovacuum is off on this server");
    EXPECT_TRUE(found->remedy.starts_with("ALTER SYSTEM SET autovacuum = on")) << found->remedy;
    set("autovacuum = on");
    EXPECT_TRUE(eventually([&] { return !find(diagnose(db_), "no_vacuum"); }));
}

TEST_F(own_server, that_lets_a_database_have_few_connections_is_told) {
    const std::string name = db_.execute("SELECT current_database()::text").rows.at(0).text(0);
    const auto limit_to = [&](const std::string& count) {
        db_.execute("ALTER DATABASE " + name + " CONNECTION LIMIT " + count);
    };
    const auto of_database = [&](const diagnosis_settings& settings) {
        for (const finding& each : diagnose(db_, settings)) {
            const bool is_it =
                each.what.ends_with(" connections of database " + name + " are in use");
            if (each.name == "connections" && is_it) return each;
        }
        return finding{};
    };
    EXPECT_EQ(of_database(strict()).what, "") << "no limit of its own";
    limit_to("90");
    const finding found = of_database(strict());
    EXPECT_NE(found.what.find(" of 90 connections"), std::string::npos) << found.what;
    EXPECT_NE(found.remedy.find("ALTER DATABASE " + name + " CONNECTION LIMIT"), std::string::npos)
        << found.remedy;
    EXPECT_EQ(of_database({}).what, "");
    limit_to("-1");
}

// Its replicas may still be made: nobody receives anything, and no commit waits.
TEST_F(own_server, that_patroni_manages_is_told) {
    EXPECT_FALSE(find(diagnose(db_), "patroni"));
    EXPECT_FALSE(find(diagnose(db_), "replication"));
    transaction of_patroni = db_.begin();
    of_patroni.execute("SET application_name = 'Patroni'");
    const auto all = diagnose(db_);
    const auto loose = find(all, "patroni"), alone = find(all, "replication");
    ASSERT_TRUE(loose && alone) << names_of(all);
    EXPECT_NE(loose->what.find("synchronous_mode is off, or is not strict"), std::string::npos);
    EXPECT_NE(loose->what.find("3.0.2 lets a frozen primary"), std::string::npos) << loose->what;
    EXPECT_EQ(alone->severity, severity::warning);
    EXPECT_NE(alone->what.find("none does"), std::string::npos) << alone->what;
    EXPECT_NE(alone->remedy.find("synchronous_mode_strict"), std::string::npos) << alone->remedy;
    set("synchronous_standby_names = '*'");
    EXPECT_TRUE(eventually([&] {
        const auto strict_mode = find(diagnose(db_), "patroni");
        return strict_mode && strict_mode->what.find("strict lets") != std::string::npos;
    }));
    set("synchronous_standby_names = 'db2'");
    EXPECT_TRUE(eventually([&] {
        const auto hidden = find(diagnose(db_), "patroni");
        return hidden && hidden->what.find("cannot be seen from here") != std::string::npos;
    }));
    set("synchronous_standby_names = ''");
    of_patroni.rollback();
    EXPECT_TRUE(eventually([&] { return !find(diagnose(db_), "patroni"); }));
}

}  // namespace
}  // namespace leasehold::testing
