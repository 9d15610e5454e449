// URLs of MySQL and MariaDB servers, as tables of what is meant and what is refused.
#include "driver/mysql_url.hpp"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>
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

TEST(mysql_url, all_of_its_parts_are_read) {
    const address found = parse_url("mysql://app:secret@db.example:3307/orders");
    EXPECT_EQ(found.host, "db.example");
    EXPECT_EQ(found.port, 3307);
    EXPECT_EQ(found.user, "app");
    EXPECT_EQ(found.password, "secret");
    EXPECT_EQ(found.database, "orders");
    EXPECT_EQ(found.tls, tls_mode::preferred);
    EXPECT_EQ(found.authority_file + found.certificate_file + found.key_file, "");
}

TEST(mysql_url, the_scheme_of_mariadb_is_the_same) {
    const address found = parse_url("mariadb://app:secret@db.example:3307/orders");
    EXPECT_EQ(place_of(found) + "/" + found.database, "db.example:3307/orders");
    EXPECT_EQ(found.user + ":" + found.password, "app:secret");
}

TEST(mysql_url, a_port_may_be_left_out) {
    EXPECT_EQ(parse_url("mysql://app@db/orders").port, 3306);
    EXPECT_EQ(parse_url("mysql://app@[::1]/orders").port, 3306);
}

TEST(mysql_url, user_password_and_database_are_decoded) {
    const address found = parse_url("mysql://a%40b:p%2fw%3Ax%25%C3%BC@db/my%20orders");
    EXPECT_EQ(found.user, "a@b");
    EXPECT_EQ(found.password, "p/w:x%\xc3\xbc");
    EXPECT_EQ(found.database, "my orders");
    // A plus is a plus: this is no form of a web page. A colon may be in a password as it is.
    EXPECT_EQ(parse_url("mysql://a:b+c:d@db/x").password, "b+c:d");
}

TEST(mysql_url, an_ipv6_address_stands_in_brackets) {
    const address found = parse_url("mysql://app@[fe80::1%eth0]:3307/orders");
    EXPECT_EQ(found.host, "fe80::1%eth0");
    EXPECT_EQ(found.port, 3307);
    EXPECT_EQ(place_of(found), "[fe80::1%eth0]:3307");
    EXPECT_EQ(place_of(parse_url("mysql://app@db/orders")), "db:3306");
}

TEST(mysql_url, a_password_may_come_from_outside) {
    EXPECT_EQ(parse_url("mysql://app@db/x", "outside").password, "outside");
    EXPECT_EQ(parse_url("mysql://app:inside@db/x", "outside").password, "inside");
    EXPECT_EQ(parse_url("mysql://app:@db/x", "outside").password, "");
    EXPECT_EQ(parse_url("mysql://app@db/x", nullptr).password, "");
}

TEST(mysql_url, options_choose_the_encryption) {
    const std::string base = "mysql://app@db/x?ssl-mode=";
    EXPECT_EQ(parse_url(base + "DISABLED").tls, tls_mode::disabled);
    EXPECT_EQ(parse_url(base + "PREFERRED").tls, tls_mode::preferred);
    EXPECT_EQ(parse_url(base + "REQUIRED").tls, tls_mode::required);
    EXPECT_EQ(parse_url(base + "VERIFY_CA").tls, tls_mode::verify_authority);
    const address found = parse_url(
        base + "VERIFY_IDENTITY&ssl-ca=/etc/ca%20of%20us.pem&ssl-cert=/c.pem&ssl-key=/k.pem"
    );
    EXPECT_EQ(found.tls, tls_mode::verify_identity);
    EXPECT_EQ(found.authority_file, "/etc/ca of us.pem");
    EXPECT_EQ(found.certificate_file, "/c.pem");
    EXPECT_EQ(found.key_file, "/k.pem");
    EXPECT_EQ(parse_url("mysql://app@db/x?").tls, tls_mode::preferred);
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
        // What comes of a password that is not encoded.
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
