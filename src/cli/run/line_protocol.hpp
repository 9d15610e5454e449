#pragma once
// The lines of `leasehold work --protocol lines`: a command that stays gets each job as one line of
// JSON on its standard input, and answers on its standard output, also with one line each.
//
//   {"id":7,"queue":"mail","kind":"confirm","attempt":1,"max_attempts":20,"token":3,"payload":"…"}
//
// | the answer                               | the job                                           |
// |------------------------------------------|---------------------------------------------------|
// | {"id":7,"do":"progress","text":"half"}   | goes on                                           |
// | {"id":7,"do":"checkpoint","text":"40"}   | goes on; its next attempt gets the text           |
// | {"id":7,"do":"complete","text":"result"} | is completed; "text" may be left out              |
// | {"id":7,"do":"fail","text":"no ink"}     | has failed in this attempt; with "seconds" the    |
// |                                          | next one comes after that                         |
// | {"id":7,"do":"snooze","seconds":60}      | runs again after that; the attempt does not count |
// | {"id":7,"do":"release"}                  | is given back; the attempt does not count         |
// | {"id":7,"do":"discard","text":"no use"}  | is discarded                                      |
//
// The payload is a text, whatever it has in it. A job that has them also has the members
// "traceparent" and "checkpoint", both texts. If the database does not answer, progress and
// checkpoint are dropped, and those before them count. Each command has one job at a time. An
// answer with another "token" than the job's is refused: an id alone may be that of an earlier run
// of the job.
//
// Threads: safe.
#include <optional>
#include <string>
#include <string_view>

#include "leasehold/worker.hpp"

namespace leasehold::cli {

// With its newline.
std::string line_for(const job& mine);

// Does what one line of the command says. nullopt: the job goes on. Otherwise it has ended: empty,
// or with the reason why it has failed. Throws std::runtime_error if the line is no answer for it.
std::optional<std::string> obey(job& mine, std::string_view line);

}  // namespace leasehold::cli
