# Turns a page into a script that does what the page shows, from its first block to its last.
# `backend`: blocks for other engines are left out, with what they print. `root`: the folder that
# stands for / there. `url`: of the database, in place of any server's that the page names;
# `worker_url`: of the user whom the page calls worker, whose name is `worker`. Uses functions of
# `guide`.

function quoted(text) {
    gsub(/'/, "'\\''", text)
    return "'" text "'"
}

# A URL with an option of TLS keeps its options. The name that the server's certificate has is that
# of this machine; where nobody looks at it, an address that is not known to be this machine's.
function encrypted(text,    result, found, options, host) {
    result = ""
    while (match(text, /(postgresql|mysql):\/\/[^ \n"']+\?ssl-?mode=[^ \n"']+/)) {
        found = substr(text, RSTART, RLENGTH)
        options = substr(found, index(found, "?"))
        host = options ~ /verify-full|VERIFY_IDENTITY/ ? "localhost" : "0.0.0.0"
        found = url
        sub(/127\.0\.0\.1/, host, found)
        sub(/:\/\//, "\002", found)
        result = result substr(text, 1, RSTART - 1) found options
        text = substr(text, RSTART + RLENGTH)
    }
    text = result text
    sub(/DNS:db\.example\.org/, "DNS:localhost", text)
    return text
}

# Moves paths and URLs outside of the folder into it.
function inside(text,    result) {
    gsub(/(postgresql|mysql):\/\/worker:[^ \n"']+/, "\001", text)
    gsub(/--grants worker/, "--grants " worker, text)
    text = encrypted(text)
    gsub(/(postgresql|mysql):\/\/[^ \n"']+/, url, text)
    gsub(/\002/, "://", text)
    gsub(/\001/, worker_url, text)
    result = ""
    while (match(text, /(^|[^A-Za-z0-9_.\/])\/(etc|usr\/local|var|srv|opt)\//)) {
        result = result substr(text, 1, RSTART - 1)
        if (substr(text, RSTART, 1) != "/") {
            result = result substr(text, RSTART, 1)
            ++RSTART
            --RLENGTH
        }
        result = result root substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
    }
    return result text
}

/^```/ && !is_inside {
    is_inside = 1
    count = split(substr($0, 4), words, " ")
    language = words[1]
    word = words[2]
    from = FNR + 1
    text = ""
    next
}
/^```$/ {
    is_inside = 0
    if (language != "output") is_meant = word !~ /^(sqlite|postgres|mysql)$/ || word == backend
    if (!is_meant) next
    block()
    next
}
is_inside { text = text $0 "\n" }

function block() {
    printf "begin %d\n", from
    if (language == "output") {
        gsub(/"worker"/, "\"" worker "\"", text)
        printf "%s", "expect " quoted(text) "\n"
    } else if (language == "sh" && word == "build") {
        printf "%s", "check_build " quoted(text) "\n"
    } else if (language == "sh" && word ~ /^\//) {
        printf "%s", "write " quoted(inside(word)) " " quoted(inside(text)) "\n"
        printf "%s", "chmod +x " quoted(inside(word)) "\n"
    } else if (language == "sh") {
        printf "%s", inside(text)
    } else if (language == "sql" && word ~ /^\//) {
        printf "%s", "write " quoted(inside(word)) " " quoted(inside(text)) "\n"
    } else if (language == "sql" && words[3] == "undone") {
        printf "%s", "undone " quoted(text) "\n"
    } else if (language == "sql") {
        printf "%s", "client " quoted(text) "\n"
    } else if (language == "cpp") {
        printf "%s", "excerpt " quoted(text) "\n"
    } else if (language == "crontab") {
        printf "%s", "write " quoted(inside(word)) " " quoted(inside(text)) "\n"
        printf "%s", "run_crontab " quoted(inside(word)) "\n"
    } else if (word ~ /^\//) {
        printf "%s", "write " quoted(inside(word)) " " quoted(inside(text)) "\n"
    } else {
        printf "%s", "die " quoted("nothing is known of a block of " language) "\n"
    }
}

END { print "begin end" }
