#pragma once
// What PostgreSQL, MySQL and MariaDB answer about a waiter, read: number, whether it holds the key,
// token, what is left of a fixed term, whether it waits, whether the key could be taken.
#include <chrono>

#include "leasehold/connection.hpp"
#include "store/waiter_store.hpp"

namespace leasehold {

inline look_result look_result_of(const row& seen) {
    look_result answer;
    if (!seen.is_null(1) && seen.integer(1) != 0) {
        answer.status = look_status::granted;
        answer.token = {seen.integer(2)};
        if (!seen.is_null(3)) answer.term_left = std::chrono::microseconds{seen.integer(3)};
    } else if (seen.integer(4) != 0) {
        answer.status = look_status::waiting;
        answer.looks_takeable = seen.integer(5) != 0;
    }
    return answer;
}

}  // namespace leasehold
