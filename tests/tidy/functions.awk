# Functions of C++ that are longer than `most` lines, signature included. Reads what code.awk
# left of files, without literals and comments.
#
# A brace opens a scope (namespace, class), a function (anything with a parameter list directly in a
# scope), or something inside of either.

function opens(    text) {
    if (depth > 0 && kind[depth] != "scope") return "inner"
    text = before
    gsub(/template *<[^{}]*>/, "", text)
    sub(/^[ ]+/, "", text)
    if (text ~ /^(inline )?namespace([^A-Za-z0-9_]|$)/ || text ~ /^extern *""/) return "scope"
    if (text ~ /^(typedef )?(class|struct|union)[ ]/ && text !~ /\) *(const)? *(noexcept)? *$/) {
        return "scope"
    }
    if (text ~ /\(/) return "function"
    # The body after the members of a constructor: `: a_{1}, b_{2} {`.
    if (last_start[depth] && (text == "" || text ~ /^,/)) return "function"
    return "inner"
}

FNR == 1 {
    depth = 0
    before = ""
    first_line = 0
    is_directive = 0
    split("", last_start)
}

/^[ ]*#/ { is_directive = 1 }
is_directive { is_directive = ($0 ~ /\\$/); next }

{
    for (at = 1; at <= length($0); ++at) {
        each = substr($0, at, 1)
        if (each == "{") {
            what = opens()
            from = (what == "function" && last_start[depth] && before ~ /^[ ]*(,.*)?$/) \
                ? last_start[depth] : first_line
            last_start[depth] = 0
            ++depth
            kind[depth] = what
            start[depth] = from ? from : FNR
            last_start[depth] = 0
            before = ""
            first_line = 0
        } else if (each == "}") {
            was_function = depth > 0 && kind[depth] == "function"
            if (was_function && FNR - start[depth] + 1 > most) {
                printf "%s:%d: a function of %d lines; %d is the limit\n", \
                    FILENAME, start[depth], FNR - start[depth] + 1, most
            }
            if (depth > 0) --depth
            last_start[depth] = was_function ? start[depth + 1] : 0
            before = ""
            first_line = 0
        } else if (each == ";") {
            last_start[depth] = 0
            before = ""
            first_line = 0
        } else {
            if (each == ":" && before ~ /^[ ]*(public|private|protected)$/) {
                before = ""
                first_line = 0
                continue
            }
            if (each != " " && !first_line) first_line = FNR
            before = before each
        }
    }
    if (before != "") before = before " "
}
