#pragma once
// One block of a file of statements; statements.hpp says what a block is.
#include <string_view>

namespace leasehold {

enum class block_kind { name, fragment };

// src/cmake/embed_sql.cmake takes the files apart.
struct sql_block {
    constexpr sql_block(
        std::string_view in_file, block_kind its_kind, std::string_view said, std::string_view body
    )
        : file(in_file), kind(its_kind), name(said) {
        constexpr std::string_view white = " \n", between = " on ";
        const auto first = body.find_first_not_of(white);
        if (first != std::string_view::npos) {
            text = body.substr(first, body.find_last_not_of(white) + 1 - first);
            if (text.ends_with(';')) text.remove_suffix(1);
        }
        const auto at = said.find(between);
        if (at != std::string_view::npos) {
            name = said.substr(0, at);
            place = said.substr(at + between.size());
        }
    }

    std::string_view file;
    block_kind kind;
    std::string_view name;
    std::string_view place;  // of "x on mariadb"; empty: everywhere
    std::string_view text;   // without the semicolon at its end
};

}  // namespace leasehold
