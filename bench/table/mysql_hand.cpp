// The C client that Connector/C++ stands on in Debian, and its prepared statements.
#include <mysql.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <stdexcept>
#include <unordered_map>

#include "bench/table/hands.hpp"

namespace leasehold::bench {
namespace {

struct address {
    std::string user, password, host, database;
    unsigned port = 3306;
};

// mysql://user:password@host:port/database?options
address address_in(const std::string& url) {
    address made;
    std::size_t at = url.find("://") + 3;
    const auto until = [&](const char* ends) {
        const auto end = std::min(url.find_first_of(ends, at), url.size());
        const std::string part = url.substr(at, end - at);
        at = end;
        return part;
    };
    made.user = until(":@/");
    if (url.substr(at, 1) == ":") {
        ++at;
        made.password = until("@");
    }
    ++at;
    made.host = until(":/");
    if (url.substr(at, 1) == ":") {
        ++at;
        made.port = static_cast<unsigned>(std::stoul(until("/")));
    }
    ++at;
    made.database = until("?");
    return made;
}

class mysql_hand final : public hand {
public:
    explicit mysql_hand(const place& where) : handle_(mysql_init(nullptr), &mysql_close) {
        const address to = address_in(where.url);
        const auto* const opened = mysql_real_connect(
            handle_.get(),
            to.host.c_str(),
            to.user.c_str(),
            to.password.c_str(),
            to.database.c_str(),
            to.port,
            nullptr,
            0
        );
        if (!opened) fail();
        const bool is_mariadb =
            mysql_get_server_info(handle_.get()) &&
            std::string{mysql_get_server_info(handle_.get())}.find("MariaDB") != std::string::npos;
        engine_ = is_mariadb ? engine::mariadb : engine::mysql;
        run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    }

    engine which() const override { return engine_; }
    answer execute(const std::string& text, const parameters& values) override {
        MYSQL_STMT* const statement = prepared(text);
        bind(statement, values);
        if (mysql_stmt_execute(statement) != 0) fail(statement);
        answer made;
        if (mysql_stmt_field_count(statement) == 0) {
            made.rows = static_cast<std::int64_t>(mysql_stmt_affected_rows(statement));
            return made;
        }
        read(statement, made);
        return made;
    }
    void begin() override { run("START TRANSACTION"); }
    void commit() override { run("COMMIT"); }

private:
    [[noreturn]] void fail() { throw std::runtime_error(mysql_error(handle_.get())); }
    [[noreturn]] static void fail(MYSQL_STMT* statement) {
        throw std::runtime_error(mysql_stmt_error(statement));
    }
    void run(const char* text) {
        if (mysql_query(handle_.get(), text) != 0) fail();
    }

    MYSQL_STMT* prepared(const std::string& text) {
        const auto known = statements_.find(text);
        if (known != statements_.end()) return known->second.get();
        MYSQL_STMT* const made = mysql_stmt_init(handle_.get());
        auto& kept = statements_.emplace(text, closing{made, &mysql_stmt_close}).first->second;
        if (mysql_stmt_prepare(made, text.data(), text.size()) != 0) fail(made);
        return kept.get();
    }

    void bind(MYSQL_STMT* statement, const parameters& values) {
        bound_.assign(values.size(), MYSQL_BIND{});
        for (std::size_t each = 0; each < values.size(); ++each) {
            MYSQL_BIND& to = bound_[each];
            const auto& held = values[each].held();
            if (const auto* const number = std::get_if<std::int64_t>(&held)) {
                to.buffer_type = MYSQL_TYPE_LONGLONG;
                to.buffer = const_cast<std::int64_t*>(number);
                continue;
            }
            const auto* const bytes = std::get_if<blob>(&held);
            const std::string& sent = bytes ? bytes->bytes : values[each].text();
            to.buffer_type = bytes ? MYSQL_TYPE_BLOB : MYSQL_TYPE_STRING;
            to.buffer = const_cast<char*>(sent.data());
            to.buffer_length = sent.size();
        }
        if (!bound_.empty() && mysql_stmt_bind_param(statement, bound_.data())) fail(statement);
    }

    // The first column as a number, whatever there is besides.
    void read(MYSQL_STMT* statement, answer& into) {
        std::int64_t number = 0;
        std::array<char, 256> dropped{};
        std::vector<MYSQL_BIND> columns(mysql_stmt_field_count(statement));
        for (MYSQL_BIND& each : columns) {
            each.buffer_type = MYSQL_TYPE_STRING;
            each.buffer = dropped.data();
            each.buffer_length = dropped.size();
        }
        columns[0].buffer_type = MYSQL_TYPE_LONGLONG;
        columns[0].buffer = &number;
        if (mysql_stmt_bind_result(statement, columns.data())) fail(statement);
        int status = mysql_stmt_fetch(statement);
        for (; status == 0 || status == MYSQL_DATA_TRUNCATED;
             status = mysql_stmt_fetch(statement)) {
            ++into.rows;
            into.ids.push_back(number);
        }
        mysql_stmt_free_result(statement);
        if (status != MYSQL_NO_DATA) fail(statement);
    }

    using closing = std::unique_ptr<MYSQL_STMT, decltype(&mysql_stmt_close)>;

    const std::unique_ptr<MYSQL, decltype(&mysql_close)> handle_;
    engine engine_ = engine::mysql;
    std::unordered_map<std::string, closing> statements_;
    std::vector<MYSQL_BIND> bound_;  // of the call under way
};

}  // namespace

std::unique_ptr<hand> make_mysql_hand(const place& where) {
    // The library's own start is not for several threads at once.
    static std::once_flag started;
    std::call_once(started, [] { mysql_library_init(0, nullptr, nullptr); });
    return std::make_unique<mysql_hand>(where);
}

}  // namespace leasehold::bench
