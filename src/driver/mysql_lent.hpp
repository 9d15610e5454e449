#pragma once
// Private to the MySQL driver and to the SOCI adapter: the common part of the caller's own
// connections, whichever client library they come from. The driver changes nothing of them: no
// settings, no autocommit, nothing that ends a transaction. It uses no feature that they may lack,
// such as several statements in one packet.
#include <string>

#include "leasehold/connection.hpp"
#include "leasehold/export.hpp"

namespace leasehold::mysql {

class LEASEHOLD_EXPORT lent_connection : public connection {
public:
    const server_info& server() const noexcept final { return server_; }

    result execute(std::string_view sql, const parameters& values) final;
    // Sends them one after the other: the caller may have connected without
    // CLIENT_MULTI_STATEMENTS.
    result execute_script(std::string_view sql, const parameters& values) final;

    void begin() final { refuse("begun"); }
    void commit() final { refuse("committed"); }
    // Cannot throw; the caller rolls back its own connection.
    void rollback() noexcept final {}
    // The caller's settings stay, and decide how long a call may last.
    void set_statement_timeout(std::chrono::milliseconds) final {}

protected:
    // `place`, for messages, after the server's name; `library`: the one through which its owner
    // ends a transaction.
    lent_connection(server_info server, const std::string& place, std::string library);

    // Sends one statement. `has_rows` (may be null): true when it could have had rows.
    virtual result run(const std::string& text, bool* has_rows) = 0;

    const std::string& place() const noexcept { return place_; }

private:
    [[noreturn]] void refuse(const char* what) const;
    void require_unbent_once();

    const server_info server_;
    const std::string place_;
    const std::string library_;
    bool is_unbent_ = false;
};

}  // namespace leasehold::mysql
