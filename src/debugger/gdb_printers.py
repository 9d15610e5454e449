"""Pretty-printers of GDB for leasehold's values and handles.

    (gdb) print held
    $1 = lease of "invoices/closing", token 42, held
    (gdb) print work
    $2 = job 7 of queue "mail", kind "welcome", attempt 1 of 20

GDB loads this file by itself for an installed shared library (share/gdb/auto-load). A program that
is linked statically says: (gdb) source /usr/share/leasehold/gdb_printers.py

The printers read memory alone: they call no function of the program, and work in a core dump. A
library without debug information does not show what is behind a handle; the printer then says so.
"""

import gdb
import gdb.printing


def inner(pointer):
    """What a std::shared_ptr or std::unique_ptr points at, or None."""
    try:
        if pointer.type.strip_typedefs().name.startswith("std::shared_ptr"):
            at = pointer["_M_ptr"]
        else:
            at = pointer["_M_t"]["_M_t"]["_M_head_impl"]
        return at.dereference() if int(at) != 0 else None
    except gdb.error:
        return None


def is_complete(value):
    """False where the library's debug information is missing."""
    return value.type.strip_typedefs().fields() != []


def atomic(value):
    """The value of a std::atomic."""
    try:
        return value["_M_i"]
    except gdb.error:
        return value["_M_base"]["_M_i"]


def text(string):
    """The bytes of a std::string, quoted."""
    length = int(string["_M_string_length"])
    data = string["_M_dataplus"]["_M_p"]
    return '"' + data.string("utf-8", "backslashreplace", length=length).replace('"', '\\"') + '"'


def digits(identity):
    """The 32 hexadecimal digits of an identity, or of one that has a kind."""
    if any(field.name == "id_" for field in identity.type.strip_typedefs().fields()):
        identity = identity["id_"]
    bytes_of = identity["bytes_"]["_M_elems"]
    return "".join(f"{int(bytes_of[at]) & 0xFF:02x}" for at in range(16))


def word(enumerator):
    """held of leasehold::state::held."""
    return str(enumerator).rsplit("::", 1)[-1]


class Printer:
    def __init__(self, value):
        self.value = value


class Key(Printer):
    def to_string(self):
        return text(self.value["name_"])


class Token(Printer):
    def to_string(self):
        return str(int(self.value["number"]))


class Identity(Printer):
    def to_string(self):
        return digits(self.value)


class Handle(Printer):
    """`pointer` is the member that refers to the implementation."""

    pointer = "inner_"
    name = "handle"

    def to_string(self):
        member = self.value[self.pointer]
        is_reference = member.type.code == gdb.TYPE_CODE_REF
        of = member.referenced_value() if is_reference else inner(member["to_"])
        if of is None:
            return f"{self.name} that was moved from"
        if not is_complete(of):
            return f"{self.name} (the library has no debug information)"
        return self.words(of)


class Lease(Handle):
    name = "lease"
    pointer = "held_"

    def words(self, of):
        granted = inner(of["first_"])
        what = granted["what_"]
        said = f'lease of {text(what["key"]["name_"])}, token {int(what["token"]["number"])}, '
        reason = word(atomic(granted["reason_"]))
        return said + ("held" if reason == "none" else f"lost ({reason})")


class Session(Handle):
    name = "session"

    def words(self, of):
        shared = of["state_"]
        lease = shared["grants"]["lease_"]["_M_payload"]["_M_payload"]["_M_value"]
        reason = word(lease["reason_"])
        state = "live" if reason == "none" else f"over ({reason})"
        return f'session {digits(shared["id"])} of {text(of["node_info_"])}, {state}'


class Job(Handle):
    name = "job"

    def words(self, of):
        what = of["what_"]
        return (
            f'job {int(what["id"])} of queue {text(of["queue_"])}, kind {text(what["kind"])}, '
            f'attempt {int(what["attempts"])} of {int(what["retry"]["max_attempts"])}'
        )


printers = gdb.printing.RegexpCollectionPrettyPrinter("leasehold")
for name, printer in (
    ("key", Key),
    ("fencing_token", Token),
    ("identity", Identity),
    ("identity_of_kind<.*>", Identity),
    ("lease", Lease),
    ("session", Session),
    ("job", Job),
):
    printers.add_printer(name, f"^leasehold::{name}$", printer)
gdb.printing.register_pretty_printer(gdb.current_objfile(), printers, replace=True)
