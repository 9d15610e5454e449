// `leasehold serve`: how the database stands, as a page, for Prometheus, and for load balancers.
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/exit_status.hpp"
#include "cli/open.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/run/events.hpp"
#include "cli/serve/http.hpp"
#include "cli/serve/site.hpp"

namespace leasehold::cli {
namespace {

struct serve_options {
    std::string listen = "127.0.0.1:7480";
    std::vector<std::string> allowed_hosts;
    bool has_actions = false;
    std::string token_file;
};

struct listen_address {
    std::string host;  // without brackets
    int port = 0;
};

listen_address address_of(const std::string& text) {
    const auto colon = text.rfind(':');
    const auto refuse = [&]() -> listen_address {
        throw usage_failure(
            "--listen is ADDRESS:PORT, as 127.0.0.1:7480 or [::1]:7480; '" + text + "' is not"
        );
    };
    if (colon == std::string::npos || colon == 0) return refuse();
    listen_address address{text.substr(0, colon), 0};
    if (address.host.starts_with('[')) {
        if (!address.host.ends_with(']')) return refuse();
        address.host = address.host.substr(1, address.host.size() - 2);
    } else if (address.host.find(':') != std::string::npos) {
        return refuse();
    }
    const char* const end = text.data() + text.size();
    const auto [last, failed] = std::from_chars(text.data() + colon + 1, end, address.port);
    constexpr int max_port = 65535;
    if (failed != std::errc{} || last != end || address.port < 0 || address.port > max_port) {
        return refuse();
    }
    return address;
}

bool is_loopback(const std::string& host) {
    return host == "localhost" || host == "::1" || host.starts_with("127.");
}

std::string bracketed(const std::string& host) {
    return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

std::string token_of(const serve_options& chosen, bool is_json) {
    std::string token;
    if (chosen.token_file.empty()) {
        if (auto found = from_environment("LEASEHOLD_SERVE_TOKEN")) token = *std::move(found);
    } else {
        std::ifstream file{chosen.token_file};
        if (!std::getline(file, token)) {
            throw usage_failure("--token-file: '" + chosen.token_file + "' has no line to read");
        }
        if (token.ends_with('\r')) token.pop_back();  // lines as Windows writes them
        struct stat found {};
        constexpr unsigned of_others = 0077;
        if (stat(chosen.token_file.c_str(), &found) == 0 && (found.st_mode & of_others) != 0) {
            report(
                is_json,
                "warning",
                "warning: others than you may read '" + chosen.token_file + "': chmod 600"
            );
        }
    }
    if (token.empty()) {
        throw usage_failure("--actions needs a token: --token-file F, or LEASEHOLD_SERVE_TOKEN");
    }
    constexpr std::size_t bytes_min = 16;
    if (token.size() < bytes_min) {
        throw usage_failure(
            "the token is too short to be kept secret: 16 characters at least, as of "
            "`openssl rand -hex 16`"
        );
    }
    return token;
}

site_settings settings_of(
    const serve_options& chosen, const listen_address& address, const global_options& options
) {
    site_settings settings;
    settings.place = place_of(url_of(options));
    settings.hosts = {"localhost", "127.0.0.1", "[::1]", host_name_of(bracketed(address.host))};
    for (const std::string& each : chosen.allowed_hosts) {
        settings.hosts.push_back(host_name_of(each));
    }
    if (chosen.has_actions) settings.token = token_of(chosen, options.is_json);
    return settings;
}

// Waits until a signal asks for the end; it does not heed signals that ask for anything else.
void wait_for_end(signal_inbox& signals, const background<bool>& serving) {
    using namespace std::chrono_literals;
    while (true) {
        const auto heard = wait_for({signals.source(), serving.source()}, 24h);
        if (heard == 1 || signals.is_asked_to_end()) return;
    }
}

int serve(const serve_options& chosen, const global_options& options) {
    const listen_address address = address_of(chosen.listen);
    const site_settings settings = settings_of(chosen, address, options);
    signal_inbox signals;
    constexpr int connections = 4;  // the snapshot, the pulse, somebody's filter, an action
    const database db = open_database(options, std::chrono::seconds{5}, {}, {}, connections);
    // This object lives as long as the process: the end of this function says why.
    auto pages = std::make_unique<site>(db, settings);
    const auto server =
        make_http_server([&pages](const http_request& request) { return pages->answer(request); });
    const int port = server->bind(address.host, address.port);
    if (port == 0) {
        throw failure{
            exit_status::failed,
            "listen_failed",
            "cannot listen on " + chosen.listen +
                ": is the address this machine's, and the port "
                "free?"};
    }
    const std::string url = "http://" + bracketed(address.host) + ":" + std::to_string(port) + "/";
    if (!is_loopback(address.host)) {
        report(
            options.is_json,
            "warning",
            "warning: everybody who reaches " + chosen.listen +
                " can read what is held and what "
                "jobs say; put a proxy with TLS and a password before it"
        );
    }
    print_result(options.is_json, {{"listening", url}}, "listening on " + url);
    require_written();
    background<bool> serving{[&server](const std::stop_token&) { return server->serve(); }};
    wait_for_end(signals, serving);
    const bool has_failed = serving.has_ended();
    server->stop();
    serving.take();
    const int status = has_failed ? exit_status::failed : exit_status::done;
    if (has_failed) report(options.is_json, "listen_failed", "the port can be listened to no more");
    // The tool does not wait for a read of a database that does not answer, since nothing depends
    // on its end.
    if (pages->is_reading()) _exit(status);
    return status;
}

constexpr const char* serve_help =
    "It answers to:\n"
    "  /         a page: what the doctor found, locks, sessions, runs, queues, failing jobs. The\n"
    "            page needs no JavaScript; with JavaScript it renews itself in place\n"
    "  /metrics  the same as numbers, for Prometheus\n"
    "  /healthz  200 if the database answers, 503 with a reason if it does not\n"
    "\n"
    "The database is read at most once a second, however many people look, and once a minute\n"
    "if nobody does; rights to read suffice. A request under another name than the address or\n"
    "localhost is refused, unless --allow-host names it.\n"
    "\n"
    "Looking needs no password: listen on this machine alone, which is the default, and put a\n"
    "proxy before it. With --actions the page has buttons for people who sign in with the\n"
    "token: ask a holder, free a key by force, retry and cancel jobs. The token is the first\n"
    "line of --token-file, or LEASEHOLD_SERVE_TOKEN.\n"
    "\n"
    "Examples:\n"
    "  leasehold serve\n"
    "  leasehold serve --listen 127.0.0.1:8080\n"
    "  leasehold serve --listen 10.0.0.7:7480 --allow-host leasehold.internal\n"
    "  leasehold serve --actions --token-file /etc/leasehold/token\n"
    "\n"
    "Exit status: 0 when a signal has ended it; 64 also if this build has no serve; 70 if it\n"
    "cannot listen at the address; otherwise see `leasehold --help`.\n";

}  // namespace

command add_serve(CLI::App& tool, const global_options& options) {
    CLI::App* const parser =
        tool.add_subcommand("serve", "A page, metrics and a health check, by HTTP");
    auto chosen = std::make_shared<serve_options>();
    parser->add_option("--listen", chosen->listen, "ADDRESS:PORT; default 127.0.0.1:7480")
        ->option_text("A");
    parser->add_option("--allow-host", chosen->allowed_hosts, "Another name it is reached by")
        ->option_text("NAME")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    CLI::Option* const actions = parser->add_flag(
        "--actions", chosen->has_actions, "Buttons that ask, force, retry and cancel"
    );
    parser->add_option("--token-file", chosen->token_file, "The token that they need")
        ->option_text("F")
        ->needs(actions);
    parser->footer(serve_help);
    return {parser, [chosen, &options] { return serve(*chosen, options); }};
}

}  // namespace leasehold::cli
