# C++ without its comments: for each file under `root` the same lines under `code` with comments
# left out, and under `bare` with the insides of literals left out too. Line numbers stay.

function name_in(folder) { return folder "/" substr(FILENAME, length(root) + 2) }

# The position of the closing quote of a literal that begins at `from`.
function end_of(line, from, quote,    at, each) {
    for (at = from + 1; at <= length(line); ++at) {
        each = substr(line, at, 1)
        if (each == "\\") ++at
        else if (each == quote) return at
    }
    return length(line)
}

FNR == 1 {
    if (code_file != "") { close(code_file); close(bare_file) }
    code_file = name_in(code)
    bare_file = name_in(bare)
    printf "" > code_file
    printf "" > bare_file
    is_comment = 0
    raw_end = ""
}

{
    kept = ""
    shape = ""
    at = 1
    while (at <= length($0)) {
        rest = substr($0, at)
        each = substr(rest, 1, 1)
        if (is_comment) {
            found = index(rest, "*/")
            is_comment = !found
            at = found ? at + found + 1 : length($0) + 1
        } else if (raw_end != "") {
            found = index(rest, raw_end)
            size = found ? found + length(raw_end) - 1 : length(rest)
            if (found) { raw_end = ""; shape = shape "\"" }
            kept = kept substr(rest, 1, size)
            at += size
        } else if (substr(rest, 1, 2) == "//") {
            break
        } else if (substr(rest, 1, 2) == "/*") {
            is_comment = 1
            at += 2
        } else if (each == "\"" && kept ~ /(^|[^A-Za-z0-9_])(u8|u|U|L)?R$/) {
            size = index(rest, "(")
            raw_end = ")" substr(rest, 2, size - 2) "\""
            kept = kept substr(rest, 1, size)
            shape = shape "\""
            at += size
        } else if (each == "\"" || (each == "'" && kept !~ /[0-9A-Fa-f]$/)) {
            found = end_of($0, at, each)
            kept = kept substr($0, at, found - at + 1)
            shape = shape each each
            at = found + 1
        } else {
            kept = kept each
            shape = shape each
            ++at
        }
    }
    print kept > code_file
    print shape > bare_file
}
