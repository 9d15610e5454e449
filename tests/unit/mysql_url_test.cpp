// URLs of MySQL and MariaDB servers, as tables of what is meant and what is refused.
#include "driver/mysql_url.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "leasehold/error.hpp"

namespace leasehold::mysql {
namespace {

std::string refusal_of(std::string_view url) {
    try {
        static_cast<void>(parse_url(url));
    } catch (const error& refused) {
        EXPECT_EQ(refused.code(), errc::invalid_argument) << url;
        EXPECT_FALSE(refused.outcome_is_unknown()) << url;
        return refused.what();
    }
    ADD_FAILURE() << "not refused: " << url;
    return "";
}

address address_in(std::string_view url, const char* fallback_password = nullptr) {
    const auto all = parse_url(url, fallback_password);
    EXPECT_EQ(all.size(), 1U) << url;
    return all.at(0);
}

TEST(mysql_url, all_of_its_parts_are_read) {
    const address found = address_in("mysql://app:secret@db.example:3307/orders");
    EXPECT_EQ(found.host, "db.example");
    EXPECT_EQ(found.port, 3307);
    EXPECT_EQ(found.user, "app");
    EXPECT_EQ(found.password, "secret");
    EXPECT_EQ(found.database, "orders");
    EXPECT_EQ(found.tls, tls_mode::preferred);
    EXPECT_EQ(found.authority_file + found.certificate_file + found.key_file, "");
}

TEST(mysql_url, the_scheme_of_mariadb_is_the_same) {
    const address found = address_in("mariadb://app:secret@db.example:3307/orders");
    EXPECT_EQ(place_of(found) + "/" + found.database, "db.example:3307/orders");
    EXPECT_EQ(found.user + ":" + found.password, "app:secret");
}

TEST(mysql_url, several_hosts_have_all_else_in_common) {
    const auto all = parse_url("mysql://app:pw@h1:3307,[::1],h-3.example:33/x?ssl-mode=REQUIRED");
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(place_of(all[0]), "h1:3307");
    EXPECT_EQ(place_of(all[1]), "[::1]:3306");
    EXPECT_EQ(place_of(all[2]), "h-3.example:33");
    for (const address& each : all) {
        EXPECT_EQ(each.user + ":" + each.password + "/" + each.database, "app:pw/x");
        EXPECT_EQ(each.tls, tls_mode::required);
    }
}

TEST(mysql_url, a_port_may_be_left_out) {
    EXPECT_EQ(address_in("mysql://app@db/orders").port, 3306);
    EXPECT_EQ(address_in("mysql://app@[::1]/orders").port, 3306);
}

TEST(mysql_url, user_password_and_database_are_decoded) {
    const address found = address_in("mysql://a%40b:p%2fw%3Ax%25%C3%BC@db/my%20orders");
    EXPECT_EQ(found.user, "a@b");
    EXPECT_EQ(found.password, "p/w:x%\xc3\xbc");
    EXPECT_EQ(found.database, "my orders");
    // A plus is a plus: this is no form of a web page. A colon may be in a password as it is.
    EXPECT_EQ(address_in("mysql://a:b+c:d@db/x").password, "b+c:d");
}

TEST(mysql_url, an_ipv6_address_stands_in_brackets) {
    const address found = address_in("mysql://app@[fe80::1%eth0]:3307/orders");
    EXPECT_EQ(found.host, "fe80::1%eth0");
    EXPECT_EQ(found.port, 3307);
    EXPECT_EQ(place_of(found), "[fe80::1%eth0]:3307");
    EXPECT_EQ(place_of(address_in("mysql://app@db/orders")), "db:3306");
}

TEST(mysql_url, a_password_may_come_from_outside) {
    EXPECT_EQ(address_in("mysql://app@db/x", "outside").password, "outside");
    EXPECT_EQ(address_in("mysql://app:inside@db/x", "outside").password, "inside");
    EXPECT_EQ(address_in("mysql://app:@db/x", "outside").password, "");
    EXPECT_EQ(address_in("mysql://app@db/x", nullptr).password, "");
}

TEST(mysql_url, options_choose_the_encryption) {
    const std::string base = "mysql://app@db/x?ssl-mode=";
    EXPECT_EQ(address_in(base + "DISABLED").tls, tls_mode::disabled);
    EXPECT_EQ(address_in(base + "PREFERRED").tls, tls_mode::preferred);
    EXPECT_EQ(address_in(base + "REQUIRED").tls, tls_mode::required);
    EXPECT_EQ(address_in(base + "VERIFY_CA").tls, tls_mode::verify_authority);
    const address found = address_in(
        base + "VERIFY_IDENTITY&ssl-ca=/etc/ca%20of%20us.pem&ssl-cert=/c.pem&ssl-key=/k.pem"
    );
    EXPECT_EQ(found.tls, tls_mode::verify_identity);
    EXPECT_EQ(found.authority_file, "/etc/ca of us.pem");
    EXPECT_EQ(found.certificate_file, "/c.pem");
    EXPECT_EQ(found.key_file, "/k.pem");
    EXPECT_EQ(address_in("mysql://app@db/x?").tls, tls_mode::preferred);
}

TEST(mysql_url, a_socket_stands_for_host_and_port) {
    const address found = address_in("mysql://app@/orders?socket=/run/my%20sql.sock");
    EXPECT_EQ(found.host, "");
    EXPECT_EQ(found.port, 0);
    EXPECT_EQ(found.socket, "/run/my sql.sock");
    EXPECT_EQ(place_of(found), "/run/my sql.sock");
    EXPECT_EQ(found.tls, tls_mode::disabled);
    EXPECT_EQ(
        address_in("mysql://app@localhost/x?socket=/s&ssl-mode=REQUIRED").tls, tls_mode::required
    );
}

class option_file : public ::testing::Test {
protected:
    option_file()
        : path_(::testing::TempDir() + "leasehold_" + std::to_string(::getpid()) + ".cnf") {}
    ~option_file() override { std::remove(path_.c_str()); }
    option_file(const option_file&) = delete;
    option_file& operator=(const option_file&) = delete;

    address with(const std::string& text, const std::string& before = "mysql:///") const {
        std::ofstream{path_} << text;
        return address_in(before + "?defaults_file=" + path_, "outside");
    }
    std::string refusal_with(const std::string& text) const {
        std::ofstream{path_} << text;
        return refusal_of("mysql:///?defaults_file=" + path_);
    }

    const std::string path_;
};

TEST_F(option_file, says_what_the_url_does_not) {
    const std::string text =
        "# a comment\n; another\nuser=nobody\n[mysqld]\nuser=mysql\n"
        " [client] \n user = app\npassword = \"s#3 'cret\\\"\"  # mine\nhost=db.example # there\n"
        "port=3307\ndatabase=orders\nssl_ca = /ca.pem\nssl-mode=REQUIRED\nquick\n"
        "max_allowed_packet=1G\n[leasehold]\ndatabase='other orders'\n";
    const address all = with(text);
    EXPECT_EQ(all.user, "app");
    EXPECT_EQ(all.password, "s#3 'cret\"");
    EXPECT_EQ(place_of(all), "db.example:3307");
    EXPECT_EQ(all.database, "other orders");
    EXPECT_EQ(all.authority_file, "/ca.pem");
    EXPECT_EQ(all.tls, tls_mode::required);
    const address some = with(text, "mysql://me:mine@here:1/x");
    EXPECT_EQ(some.user + some.password + some.database, "meminex");
    EXPECT_EQ(place_of(some), "here:1");
    EXPECT_EQ(with(text, "mysql://me@/").password, "s#3 'cret\"");
}

TEST_F(option_file, has_a_socket_or_a_host) {
    const std::string text = "[client]\nuser=app\ndatabase=d\nsocket=/s\n";
    EXPECT_EQ(place_of(with(text)), "/s");
    EXPECT_EQ(with(text).password, "outside");
    EXPECT_EQ(place_of(with(text, "mysql://db/")), "db:3306");
    EXPECT_EQ(place_of(with(text + "host=localhost\n")), "/s");
}

TEST_F(option_file, its_wishes_for_tls_count) {
    const std::string text = "[client]\nuser=app\ndatabase=d\nhost=h\n";
    EXPECT_EQ(with(text).tls, tls_mode::preferred);
    EXPECT_EQ(with(text + "ssl\n").tls, tls_mode::required);
    EXPECT_EQ(with(text + "ssl-verify-server-cert\nssl\n").tls, tls_mode::verify_identity);
    EXPECT_EQ(with(text + "ssl-verify-server-cert=0\n").tls, tls_mode::preferred);
    EXPECT_EQ(with(text + "skip-ssl\n").tls, tls_mode::disabled);
    EXPECT_EQ(with(text + "loose-ssl-mode=REQUIRED\n").tls, tls_mode::required);
    EXPECT_NE(refusal_with(text + "ssl-capath=/x\n").find("ssl-capath"), std::string::npos);
    EXPECT_NE(refusal_with(text + "ssl-mode=YES\n").find("none of"), std::string::npos);
}

TEST_F(option_file, is_refused_where_it_would_not_be_understood) {
    const std::string text = "[client]\nuser=app\ndatabase=d\nhost=h\npassword=s3cr\n";
    for (const auto& [more, because] : std::vector<std::pair<std::string, std::string>>{
             {"!include /etc/my.cnf\n", "includes others"},
             {"[client\n", "no ] in line 6"},
             {"port=x\n", "port is not a number"},
             {"socket=s\n", "begins with /"},
         }) {
        const std::string words = refusal_with(text + more);
        EXPECT_NE(words.find(because), std::string::npos) << words;
        EXPECT_EQ(words.find("s3cr"), std::string::npos) << words;
    }
    EXPECT_NE(refusal_with("[client]\nhost=h\n").find("names no user"), std::string::npos);
    ::chmod(path_.c_str(), 0666);
    EXPECT_NE(refusal_with(text).find("chmod o-w"), std::string::npos);
    std::remove(path_.c_str());
    EXPECT_NE(
        refusal_of("mysql:///?defaults_file=" + path_).find("cannot be read: No such file"),
        std::string::npos
    );
    EXPECT_NE(refusal_of("mysql:///?defaults_file=/").find("is no file"), std::string::npos);
}

struct refused_url {
    std::string_view url;
    std::string_view because;
};

void PrintTo(const refused_url& each, std::ostream* out) {
    *out << each.url;
}

class refused_mysql_url : public ::testing::TestWithParam<refused_url> {};

TEST_P(refused_mysql_url, says_why_and_repeats_no_password) {
    const std::string words = refusal_of(GetParam().url);
    EXPECT_NE(words.find(GetParam().because), std::string::npos) << words;
    EXPECT_EQ(words.find("s3cr"), std::string::npos) << words;
    EXPECT_EQ(words.find('\n'), std::string::npos) << words;
}

INSTANTIATE_TEST_SUITE_P(
    urls,
    refused_mysql_url,
    ::testing::Values(
        refused_url{"", "does not begin with mysql://"},
        refused_url{"postgresql://a:s3cr@h/d", "does not begin with mysql://"},
        refused_url{"mysql:a:s3cr@h/d", "does not begin with mysql://"},
        refused_url{"mysql://h/d", "names no user"},
        refused_url{"mysql://:s3cr@h/d", "names no user"},
        refused_url{"mysql://a:s3cr@/d", "names no host"},
        refused_url{"mysql://a:s3cr@:3306/d", "names no host"},
        refused_url{"mysql://a:s3cr@h", "names no database"},
        refused_url{"mysql://a:s3cr@h/", "names no database"},
        refused_url{"mysql://a:s3cr@h/?ssl-mode=REQUIRED", "names no database"},
        refused_url{"mysql://a:s3cr@h/d/e", "has no /"},
        // Passwords that are not encoded.
        refused_url{"mysql://a:b@s3cr@h/d", "%40"},
        refused_url{"mysql://a:b/s3cr@h/d", "%2F"},
        refused_url{"mysql://a:b?s3cr@h/d", "%3F"},
        refused_url{"mysql://a:b/@s3cr@h/d", "%2F"},
        refused_url{"mysql://a@s3cr:s3cr/d", "port"},
        refused_url{"mysql://a@s3cr!s3cr/d", "character"},
        refused_url{"mysql://a:s3cr%4@h/d", "hexadecimal"},
        refused_url{"mysql://a:s3cr%@h/d", "hexadecimal"},
        refused_url{"mysql://a:s3cr%zz@h/d", "hexadecimal"},
        refused_url{"mysql://a:s3cr%00@h/d", "zero byte"},
        refused_url{"mysql://a@h:/d", "port"},
        refused_url{"mysql://a@h:0/d", "port"},
        refused_url{"mysql://a@h:65536/d", "port"},
        refused_url{"mysql://a@h:99999999999/d", "port"},
        refused_url{"mysql://a@h:33o6/d", "port"},
        refused_url{"mysql://a@::1/d", "brackets"},
        refused_url{"mysql://a:s3cr@h1,/d", "between the commas"},
        refused_url{"mysql://a:s3cr@,h2/d", "between the commas"},
        refused_url{"mysql://a:s3cr@h1,,h2/d", "between the commas"},
        refused_url{"mysql://a:s3cr@h1,:3306/d", "between the commas"},
        refused_url{"mysql://a:s3cr@h1,h2:x/d", "port"},
        refused_url{"mysql://a:s3cr@h1,h 2/d", "character"},
        refused_url{"mysql://a:s3cr@h1,::1/d", "brackets"},
        refused_url{"mysql://a:s3cr@localhost,h2/d?socket=/s", "leave one out"},
        refused_url{"mysql://a@h/d?socket=/s", "leave one out"},
        refused_url{"mysql://a@localhost:3306/d?socket=/s", "leave one out"},
        refused_url{"mysql://a@/d?socket=s", "begins with /"},
        refused_url{"mysql://a@/d?socket=", "has no value"},
        refused_url{"mysql://a@/d?socket=/s&ssl-mode=VERIFY_IDENTITY", "host's name"},
        refused_url{"mysql://a@[::1/d", "not closed"},
        refused_url{"mysql://a@[]/d", "IPv6"},
        refused_url{"mysql://a@[db]/d", "IPv6"},
        refused_url{"mysql://a@[::1]3306/d", "between"},
        refused_url{"mysql://a@h/d?charset=latin1", "option charset is not known"},
        refused_url{"mysql://a@h/d?s3cr!=1", "an option is not known"},
        refused_url{"mysql://a@h/d?ssl-mode", "has no value"},
        refused_url{"mysql://a@h/d?ssl-ca=", "has no value"},
        refused_url{"mysql://a@h/d?ssl-mode=required", "none of"},
        refused_url{"mysql://a@h/d?ssl-mode=REQUIRED&ssl-mode=DISABLED", "twice"},
        refused_url{"mysql://a@h/d?ssl-ca=x&ssl-ca=x", "twice"},
        refused_url{"mysql://a@h/d?ssl-cert=x", "need each other"},
        refused_url{"mysql://a@h/d?ssl-key=x", "need each other"},
        refused_url{"mysql://a@h/d?ssl-mode=DISABLED&ssl-ca=x", "contradicts"}
    )
);

TEST(mysql_url, a_zero_byte_is_refused) {
    EXPECT_NE(refusal_of({"mysql://a@h/d\0x", 15}).find("zero byte"), std::string::npos);
}

}  // namespace
}  // namespace leasehold::mysql
