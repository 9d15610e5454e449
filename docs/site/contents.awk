# Makes the list beside each page of the site: the sections of docs/README.md with their links, and
# all headers. `headers`: their paths, with blanks between.

function page(target) {
    sub(/#.*/, "", target)
    if (!sub(/^\.\.\//, "", target)) target = "docs/" target
    gsub(/[^A-Za-z0-9]/, "_", target)
    return target ".html"
}

# As Doxygen names the page of a header.
function header_page(path) {
    sub(/.*\//, "", path)
    gsub(/_/, "__", path)
    gsub(/\./, "_8", path)
    return path ".html"
}

function name(path) {
    sub(/^include\//, "", path)
    sub(/^leasehold\//, "", path)
    return path
}

function end_section() {
    if (is_open) print "</ul>\n</details>"
    is_open = 0
}

BEGIN { print "<p><a href=\"index.html\">The manual</a></p>" }
/^## / {
    end_section()
    print "<details open=\"open\">\n<summary>" substr($0, 4) "</summary>\n<ul>"
    is_open = 1
}
is_open {
    rest = $0
    while (match(rest, /\[[^][]*\]\([^() ]*\.md[^() ]*\)/)) {
        words = target = substr(rest, RSTART + 1, RLENGTH - 2)
        rest = substr(rest, RSTART + RLENGTH)
        sub(/\].*/, "", words)
        sub(/.*\(/, "", target)
        if (target ~ /^decisions\//) words = "decisions: " words
        words = toupper(substr(words, 1, 1)) substr(words, 2)
        print "<li><a href=\"" page(target) "\">" words "</a></li>"
    }
}
END {
    end_section()
    print "<details>\n<summary>Headers</summary>\n<ul>"
    print "<li><a href=\"headers.html\">All, with their purposes</a></li>"
    count = split(headers, path, " ")
    for (each = 1; each <= count; ++each) {
        print "<li><a href=\"" header_page(path[each]) "\">" name(path[each]) "</a></li>"
    }
    print "</ul>\n</details>"
}
