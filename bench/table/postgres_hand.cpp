#include <libpq-fe.h>
#include <poll.h>

#include <cstdlib>
#include <stdexcept>
#include <unordered_map>

#include "bench/table/hands.hpp"

namespace leasehold::bench {
namespace {

class postgres_hand final : public hand {
public:
    explicit postgres_hand(const place& where)
        : connection_(PQconnectdb(where.url.c_str()), &PQfinish) {
        if (PQstatus(connection_.get()) != CONNECTION_OK) fail();
    }

    engine which() const override { return engine::postgres; }
    answer execute(const std::string& text, const parameters& values) override {
        texts_.clear();
        places_.clear();
        lengths_.clear();
        formats_.clear();
        texts_.reserve(values.size());
        for (const value& each : values) add(each);
        PGresult* const found = PQexecPrepared(
            connection_.get(),
            prepared(text, static_cast<int>(values.size())),
            static_cast<int>(values.size()),
            places_.data(),
            lengths_.data(),
            formats_.data(),
            0
        );
        const answer made = answer_in(found);
        PQclear(found);
        return made;
    }
    void begin() override { execute(begin_, {}); }
    void commit() override { execute(commit_, {}); }

    bool copy(const std::string& text, const std::string& lines) override {
        finish(PQexec(connection_.get(), text.c_str()), PGRES_COPY_IN);
        const auto size = static_cast<int>(lines.size());
        if (PQputCopyData(connection_.get(), lines.data(), size) != 1) fail();
        if (PQputCopyEnd(connection_.get(), nullptr) != 1) fail();
        finish(PQgetResult(connection_.get()), PGRES_COMMAND_OK);
        PQclear(PQgetResult(connection_.get()));
        return true;
    }
    bool listen(const std::string& text) override {
        execute(text, {});
        return true;
    }
    bool wait_for_notification(std::chrono::milliseconds timeout) override {
        if (take_notification()) return true;
        pollfd waits{PQsocket(connection_.get()), POLLIN, 0};
        if (poll(&waits, 1, static_cast<int>(timeout.count())) <= 0) return false;
        if (PQconsumeInput(connection_.get()) != 1) fail();
        return take_notification();
    }

private:
    void finish(PGresult* found, ExecStatusType wanted) {
        const bool is_done = PQresultStatus(found) == wanted;
        PQclear(found);
        if (!is_done) fail();
    }
    // Notified once or many times: the same.
    bool take_notification() {
        bool was_notified = false;
        while (PGnotify* const each = PQnotifies(connection_.get())) {
            PQfreemem(each);
            was_notified = true;
        }
        return was_notified;
    }
    [[noreturn]] void fail() { throw std::runtime_error(PQerrorMessage(connection_.get())); }

    const char* prepared(const std::string& text, int values) {
        const auto known = names_.find(text);
        if (known != names_.end()) return known->second.c_str();
        const std::string name = "s" + std::to_string(names_.size());
        PGresult* const made =
            PQprepare(connection_.get(), name.c_str(), text.c_str(), values, nullptr);
        const bool is_made = PQresultStatus(made) == PGRES_COMMAND_OK;
        PQclear(made);
        if (!is_made) fail();
        return names_.emplace(text, name).first->second.c_str();
    }

    // Bytes as they are, all else as text.
    void add(const value& each) {
        const auto* const bytes = std::get_if<blob>(&each.held());
        const auto* const number = std::get_if<std::int64_t>(&each.held());
        if (number) texts_.push_back(std::to_string(*number));
        const std::string& sent = number ? texts_.back() : bytes ? bytes->bytes : each.text();
        places_.push_back(sent.c_str());
        lengths_.push_back(static_cast<int>(sent.size()));
        formats_.push_back(bytes ? 1 : 0);
    }

    answer answer_in(const PGresult* found) {
        answer made;
        const auto status = PQresultStatus(found);
        if (status == PGRES_COMMAND_OK) {
            made.rows = std::strtoll(PQcmdTuples(const_cast<PGresult*>(found)), nullptr, 10);
            return made;
        }
        if (status != PGRES_TUPLES_OK) fail();
        made.rows = PQntuples(found);
        for (int each = 0; each < made.rows; ++each) {
            made.ids.push_back(std::strtoll(PQgetvalue(found, each, 0), nullptr, 10));
        }
        return made;
    }

    const std::string begin_ = "BEGIN";
    const std::string commit_ = "COMMIT";
    const std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
    std::unordered_map<std::string, std::string> names_;
    // The parameters of the call under way.
    std::vector<std::string> texts_;
    std::vector<const char*> places_;
    std::vector<int> lengths_;
    std::vector<int> formats_;
};

}  // namespace

std::unique_ptr<hand> make_postgres_hand(const place& where) {
    return std::make_unique<postgres_hand>(where);
}

}  // namespace leasehold::bench
