#pragma once

namespace leasehold {

// Programs write to one server; to one whose commits must reach a standby; or to several nodes of a
// cluster at once, each of which has row locks of its own: the nodes compare their changes at the
// commit.
enum class written_nodes { one, one_with_standby, several };

}  // namespace leasehold
