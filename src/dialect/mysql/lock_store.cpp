// How MySQL and MariaDB grant a key. The statements, and why they are as they are: lock.sql.
#include "dialect/lock_store.hpp"

#include "dialect/mysql/stores.hpp"

namespace leasehold::mysql_dialect {
namespace {

class mysql_lock_store final : public sql_lock_store {
public:
    explicit mysql_lock_store(shared_dialect how) : sql_lock_store(std::move(how)) {}

    acquire_result try_acquire(connection& on, const acquire_request& wanted) override {
        const parameters values = values_of(wanted);
        return despite_deadlocks([&] {
            attempt made = ask(on, "try_acquire", values);
            if (!made.key_is_known && made.answer.status == acquire_status::busy) {
                made = add_key_and_ask(on, values);
            }
            return made.answer;
        });
    }

private:
    attempt ask(connection& on, std::string_view name, const parameters& values) const {
        return attempt_in(send(on, texts_[name], values).rows.at(0));
    }

    attempt add_key_and_ask(connection& on, const parameters& values) const {
        try {
            return ask(on, "insert_and_acquire", values);
        } catch (const error& failure) {
            if (failure.native_code() != duplicate_key_code) throw;
        }
        return ask(on, "try_acquire", values);
    }
};

}  // namespace

std::unique_ptr<lock_store> make_lock_store(shared_dialect how) {
    return std::make_unique<mysql_lock_store>(std::move(how));
}

}  // namespace leasehold::mysql_dialect
