// The doctor's findings about a file of SQLite: each finding is provoked.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "admin/sqlite/network_file.hpp"
#include "leasehold/driver/sqlite.hpp"
#include "leasehold/migrate.hpp"
#include "leasehold/mutex.hpp"
#include "support/calm.hpp"
#include "support/told_events.hpp"
#include "upkeep/doctor.hpp"

namespace leasehold::testing {
namespace {

TEST(sqlite_doctor_test, no_file_is_no_schema) {
    const place here;
    const auto all = diagnose(here.open());
    ASSERT_EQ(all.size(), 1u) << names_of(all);
    EXPECT_EQ(all[0].name, "schema_missing");
}

TEST(sqlite_doctor_test, a_file_that_is_no_database_is_an_error) {
    const place here;
    const std::string path = here.url().substr(std::string_view{"sqlite:"}.size());
    std::ofstream{path} << std::string(4096, 'x');
    const auto all = diagnose(here.open());
    ASSERT_FALSE(all.empty());
    EXPECT_EQ(worst_of(all), severity::error) << names_of(all);
}

TEST(sqlite_doctor_test, a_file_without_a_write_ahead_log_is_told) {
    const place here;
    {
        const database db = here.open();
        migrate(db);
        EXPECT_FALSE(find(diagnose(db), "journal"));
        run_in(db, {"PRAGMA journal_mode = delete"});
    }
    EXPECT_TRUE(find(diagnose(here.open()), "journal"));
}

TEST(sqlite_doctor_test, a_large_write_ahead_log_is_told) {
    const place here;
    const database db = here.open();
    migrate(db);
    EXPECT_FALSE(find(diagnose(db), "write_ahead_log"));
    const auto found = find(diagnose(db, strict()), "write_ahead_log");
    ASSERT_TRUE(found);
    EXPECT_NE(found->what.find("-wal has "), std::string::npos) << found->what;
}

TEST(sqlite_doctor_test, an_old_library_is_a_warning_where_the_file_has_tables_of_others) {
    const place here;
    const database db = here.open();
    migrate(db);
    if (db.server().version >= 35103) {
        EXPECT_FALSE(find(diagnose(db), "old_library"));
        return;
    }
    const auto alone = find(diagnose(db), "old_library");
    ASSERT_TRUE(alone);
    EXPECT_EQ(alone->severity, severity::good);
    EXPECT_EQ(alone->remedy, "");
    run_in(db, {"CREATE TABLE of_the_application (id INTEGER)"});
    const auto beside = find(diagnose(db), "old_library");
    ASSERT_TRUE(beside);
    EXPECT_EQ(beside->severity, severity::warning);
    EXPECT_NE(beside->remedy, "");
}

// The finding is the doctor's: a program that holds a lock has nothing to say of it.
TEST(sqlite_doctor_test, a_program_does_not_repeat_that_the_library_is_old) {
    const place here;
    const database db = here.open();
    migrate(db);
    run_in(db, {"CREATE TABLE of_the_application (id INTEGER)"});
    const auto told = std::make_shared<told_events>();
    database_settings settings;
    settings.observer = told;
    session one{sqlite::open(here.url(), settings), calm("one")};
    EXPECT_TRUE((mutex{one, "k"}.try_acquire()));
    EXPECT_EQ(told->count(event_kind::warning), 0);
}

TEST(sqlite_doctor_test, network_file_systems_are_known_by_their_number) {
    EXPECT_EQ(sqlite_dialect::network_name_of(0x6969), "NFS");
    EXPECT_EQ(sqlite_dialect::network_name_of(0xff534d42), "CIFS");
    EXPECT_EQ(sqlite_dialect::network_name_of(0xef53), "") << "ext4";
    EXPECT_EQ(sqlite_dialect::network_of("/proc/self"), "");
    EXPECT_EQ(sqlite_dialect::network_of("/nowhere"), "");
}

TEST(sqlite_doctor_test, those_of_fuse_are_known_by_the_table_of_mounts) {
    EXPECT_EQ(sqlite_dialect::network_name_of_fuse("fuse.sshfs"), "sshfs");
    EXPECT_EQ(sqlite_dialect::network_name_of_fuse("fuse.bindfs"), "") << "of this machine";
    EXPECT_EQ(sqlite_dialect::network_name_of_fuse("ext4"), "");
    const std::string table =
        "26 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw\n"
        "86 26 0:39 / /far rw,nosuid - fuse.sshfs host:/far rw,user_id=0\n"
        "87 26 0:40 / /other rw shared:2 master:3 - fuse.bindfs other rw\n"
        "cut off";
    const auto type = [&](const std::string& device) {
        std::istringstream mounts{table};
        return sqlite_dialect::type_of_mount(mounts, device);
    };
    EXPECT_EQ(type("0:39"), "fuse.sshfs");
    EXPECT_EQ(type("0:40"), "fuse.bindfs");
    EXPECT_EQ(type("0:3"), "");
}

// Uses the folder in LEASEHOLD_TEST_NETWORK_FOLDER: on_sshfs makes one, and CTest runs it.
TEST(network_folder, is_told_of_a_file_in_it) {
    const char* const folder = std::getenv("LEASEHOLD_TEST_NETWORK_FOLDER");
    ASSERT_TRUE(folder) << "run by tests/upkeep/on_sshfs";
    const database db = place::open_url(std::string{"sqlite:"} + folder + "/test.db");
    migrate(db);
    const auto found = find(diagnose(db), "network_file");
    ASSERT_TRUE(found) << names_of(diagnose(db));
    EXPECT_EQ(found->severity, severity::error);
    EXPECT_NE(found->what.find("test.db is on a network file system (sshfs)"), std::string::npos)
        << found->what;
}

}  // namespace
}  // namespace leasehold::testing
