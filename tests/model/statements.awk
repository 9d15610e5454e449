# The statements of files that are named as src/<room>/<engine>/<file>.sql: one line each; tabs
# stand between path, name and text. The text has no comments, and one space for each white space.
# Behind it are the texts of all fragments that it refers to: of its file, its room and its engine.
function end_block() {
    if (name != "") {
        gsub(/[ \t\n]+/, " ", text)
        sub(/^ /, "", text); sub(/;? *$/, "", text)
        if (!is_statement) sub(/ on [a-z]+$/, "", name) # all its forms
        texts[path, name] = texts[path, name] text
        if (is_statement) { count++; paths[count] = path; names[count] = name }
    }
    name = ""; text = ""
}

function found(word, of,   part, place, at, places) {
    split(of, part, "/")
    places[1] = of
    places[2] = part[1] "/" part[2] "/" part[3] "/fragments.sql"
    places[3] = part[1] "/sql/" part[3] "/fragments.sql"
    for (at = 1; at <= 3; at++) if ((places[at], word) in texts) return texts[places[at], word]
    return ""
}

function whole(of, own,   all, rest, word, behind, seen) {
    all = rest = texts[of, own]
    seen[own]
    while (match(rest, /\{[a-z_]+/)) {
        word = substr(rest, RSTART + 1, RLENGTH - 1)
        rest = substr(rest, RSTART + RLENGTH)
        if (word in seen) continue
        seen[word]
        behind = found(word, of)
        if (behind == "") continue
        all = all " | " behind
        rest = rest " " behind
    }
    return all
}

FNR == 1 { end_block(); path = FILENAME }
/^-- (name|fragment): / {
    end_block()
    is_statement = /^-- name: /
    name = $0; sub(/^-- [a-z]+: /, "", name)
    next
}
/^-- gives: / { next }
/^--/ { end_block(); next }
{ line = $0; sub(/ -- .*/, "", line); text = text "\n" line }
END {
    end_block()
    for (at = 1; at <= count; at++)
        print paths[at] "\t" names[at] "\t" whole(paths[at], names[at])
}
