# Makes pages that are written for GitHub readable for Doxygen. `path`: of the page, from the
# project's root; `pages`: the paths of all pages, with blanks around each.
#
# A page and each of its headings gets a label, so that links between pages are to labels. What a
# link names that is no page is shown by its path: the site stands without the repository.

function label(of) {
    gsub(/[^A-Za-z0-9]/, "_", of)
    return of
}

# As GitHub makes them.
function slug(text) {
    text = tolower(text)
    gsub(/`/, "", text)
    gsub(/[^a-z0-9 _-]/, "", text)
    gsub(/ /, "-", text)
    return text
}

function resolve(target,    parts, count, each, depth, stack, result) {
    sub(/\/$/, "", target)
    count = split(folder target, parts, "/")
    depth = 0
    for (each = 1; each <= count; ++each) {
        if (parts[each] == ".." && depth > 0) --depth
        else if (parts[each] != "." && parts[each] != "") stack[++depth] = parts[each]
    }
    result = stack[1]
    for (each = 2; each <= depth; ++each) result = result "/" stack[each]
    return result
}

function link(text, target,    file, anchor, words) {
    if (target ~ /^https?:/) return "[" prose(text) "](" target ")"
    anchor = target
    if (!sub(/^[^#]*#/, "", anchor)) anchor = ""
    file = target
    sub(/#.*/, "", file)
    file = file == "" ? path : resolve(file)
    words = text
    gsub(/[`"]/, "", words)
    if (index(pages, " " file " ")) {
        return "\\ref " label(file) (anchor == "" ? "" : "_" anchor) " \"" words "\""
    }
    if (file ~ /^include\/leasehold\/.*\.hpp$/) {
        sub(/^include\//, "", file)
        return "\\ref " file " \"" words "\""
    }
    if (file ~ /\.svg$/) return "\\htmlonly<a href=\"" base(file) "\">" words "</a>\\endhtmlonly"
    return words == file || words == base(file) ? "`" file "`" : prose(text) " (`" file "`)"
}

function base(of) {
    sub(/.*\//, "", of)
    return of
}

# Links and pictures of a line become what they are here; the rest is prose.
function line(text,    before, all, words, target, result) {
    result = ""
    while (match(text, /!?\[[^][]*\]\([^() ]*\)/)) {
        before = substr(text, 1, RSTART - 1)
        all = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        words = target = all
        sub(/^!?\[/, "", words)
        sub(/\]\([^() ]*\)$/, "", words)
        sub(/^.*\]\(/, "", target)
        sub(/\)$/, "", target)
        result = result prose(before)
        if (all ~ /^!/) result = result "<img src=\"" base(target) "\" alt=\"" words "\"/>"
        else result = result link(words, target)
    }
    return result prose(text)
}

function language(of) {
    if (of ~ /^(cpp|c\+\+|C\+\+)$/) return ".cpp"
    if (of ~ /^(sql|python|php)$/) return "." of
    return ".unparsed"
}

BEGIN {
    folder = path
    if (!sub(/[^\/]*$/, "", folder)) folder = ""
    fence = ""
}
/^ *```/ && fence == "" {
    of = $0
    sub(/^ *```/, "", of)
    sub(/ .*/, "", of)
    fence = "```"
    print "~~~{" language(of) "}"
    next
}
/^ *```/ {
    fence = ""
    print "~~~"
    next
}
fence != "" {
    print
    next
}
/^#+ / {
    words = $0
    sub(/^#+ /, "", words)
    marks = $0
    sub(/ .*/, "", marks)
    id = label(path) (has_title ? "_" slug(words) : "")
    has_title = 1
    # A heading is plain text in menus.
    gsub(/`/, "", words)
    print marks " " plain(words) " {#" id "}"
    next
}
/^    / && (was_blank || is_indented) && !in_list {
    is_indented = 1
    print
    next
}
/^([-*]|[0-9]+\.) / { in_list = 1 }
/^[^ ]/ && !/^([-*]|[0-9]+\.) / { in_list = 0 }
/^\|[-| :]+$/ {
    print
    next
}
{
    was_blank = $0 == ""
    if (was_blank || /^\|/) is_in_span = 0
    if (!was_blank) is_indented = 0
    print line($0)
}
