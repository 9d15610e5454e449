// What the doctor finds of a setting that a whole PostgreSQL server has. CTest gives these a server
// of their own, as upkeep_own.postgres: its file of settings is in its data folder, and nobody is
// let in as a superuser.
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
    EXPECT_FALSE(find(examine(db_), "no_vacuum"));
    set("autovacuum = off");
    std::optional<finding> found;
    ASSERT_TRUE(eventually([&] { return (found = find(examine(db_), "no_vacuum")).has_value(); }));
    EXPECT_EQ(found->weight, severity::warning);
    EXPECT_EQ(found->what, "autovacuum is off on this server");
    EXPECT_TRUE(found->remedy.starts_with("ALTER SYSTEM SET autovacuum = on")) << found->remedy;
    set("autovacuum = on");
    EXPECT_TRUE(eventually([&] { return !find(examine(db_), "no_vacuum"); }));
}

}  // namespace
}  // namespace leasehold::testing
