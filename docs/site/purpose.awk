# The first sentence of a header's text: its purpose.
/^#pragma once/ { is_next = 1; next }
is_next && /^\/\/ ?[^ ]/ && !/^\/\/ *\|/ {
    text = text (text == "" ? "" : " ") substr($0, 4)
    if (text ~ /[.:]$/ || text ~ /[^.]\. [A-Z0-9]/) exit
    next
}
is_next { exit }
END {
    if (match(text, /[^.]\. [A-Z0-9]/)) text = substr(text, 1, RSTART + 1)
    print prose(text)
}
