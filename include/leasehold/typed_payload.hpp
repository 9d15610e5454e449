#pragma once
// Payloads of types of your own. Two functions beside the type turn it into text and back; a call
// finds them by the type of its argument:
//
//   std::string to_payload(const letter& from);
//   void from_payload(std::string_view text, letter& to);  // throws if the text is no letter
//
//   queue.enqueue(leasehold::job_of("send", letter{"a@example.org", "Hello"}));
//   mailer.handle("send", leasehold::with_payload<letter>(
//       [](leasehold::job& job, const letter& what) { send(what); }));
//
// json_payload.hpp has both for types that nlohmann::json converts, and that have none of the two.
//
// Promises: these two functions alone write and read the text. If from_payload() throws, the
// attempt has failed as if the handler had thrown: a later attempt, by a newer program, may read
// the text. Does not promise: that the kind and the type belong together; the program gives each
// kind its type. A class that is derived from one with these functions, or converts into one, needs
// functions of its own: else its other members are lost.
//
// Threads: the worker calls the handler on its threads, as handle() says.
#include <concepts>
#include <string>
#include <string_view>
#include <utility>

#include "leasehold/export.hpp"
#include "leasehold/job.hpp"
#include "leasehold/worker.hpp"

namespace leasehold {

// An argument of this type lets a call find the adapters of this namespace.
struct payload_adapters {};

template <class Payload>
constexpr bool has_payload_functions() {
    constexpr bool writes = requires(const Payload& what) {
        to_payload(what);
    };
    constexpr bool reads = requires(std::string_view text, Payload & into) {
        from_payload(text, into);
    };
    static_assert(
        writes == reads,
        "a payload needs both to_payload(const T&) and from_payload(std::string_view, T&)"
    );
    return writes;
}

template <class Payload>
std::string text_of_payload(const Payload& what) {
    if constexpr (has_payload_functions<Payload>()) {
        return std::string{to_payload(what)};
    } else {
        return to_payload(payload_adapters{}, what);
    }
}

template <std::default_initializable Payload>
Payload payload_of(std::string_view text) {
    Payload made{};
    if constexpr (has_payload_functions<Payload>()) {
        from_payload(text, made);
    } else {
        from_payload(payload_adapters{}, text, made);
    }
    return made;
}

// `rest` has the settings of the job besides its kind and payload.
template <class Payload>
new_job job_of(std::string kind, const Payload& what, new_job rest = {}) {
    rest.kind = std::move(kind);
    rest.payload = text_of_payload(what);
    return rest;
}

// For worker::handle(): `handler` takes the job and its payload. An empty one stays empty.
template <std::default_initializable Payload, class Handler>
requires std::invocable<Handler&, job&, Payload> job_handler with_payload(Handler handler) {
    if constexpr (requires { static_cast<bool>(handler == nullptr); }) {
        if (handler == nullptr) return {};
    }
    return [handler = std::move(handler)](job& of) mutable {
        auto what = payload_of<Payload>(of.payload());
        return handler(of, std::move(what));
    };
}

}  // namespace leasehold
