#pragma once
// Payloads of the types that nlohmann::json converts, as JSON. Your program compiles this header,
// against its own nlohmann/json. The library itself needs no nlohmann/json, and leasehold.hpp does
// not include this header.
//
//   struct letter { std::string to, words; };
//   NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(letter, to, words)
//
//   queue.enqueue(leasehold::job_of("send", letter{"a@example.org", "Hello"}));
//
// Errors: nlohmann::json::exception for text that is no JSON, lacks a member, or has one of another
// type. Text that is no UTF-8 is refused when it is written.
// Threads: the conversions of the type decide which threads may call.
#include "leasehold/export.hpp"
// The header above comes first: it says which standard is needed.
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

#include "leasehold/typed_payload.hpp"

namespace leasehold {

template <class Payload>
requires requires(const Payload& what) {
    nlohmann::json(what);
}
std::string to_payload(payload_adapters, const Payload& what) {
    return nlohmann::json(what).dump();
}

template <class Payload>
requires requires(const nlohmann::json& read, Payload& into) {
    read.get_to(into);
}
void from_payload(payload_adapters, std::string_view text, Payload& into) {
    nlohmann::json::parse(text).get_to(into);
}

}  // namespace leasehold
