# What Doxygen would read as a command or a tag in plain words, outside of `code`. A span of code
# may go on in the next line: `is_in_span`, until the paragraph ends.
function prose(text,    parts, count, each, result, is_code) {
    count = split(text, parts, "`")
    is_code = is_in_span
    # Doxygen takes a quote within for the end of it.
    result = is_code ? parts[1] : plain(parts[1])
    for (each = 2; each <= count; ++each) {
        is_code = !is_code
        if (is_code && each < count && parts[each] ~ /'/) {
            result = result "``" parts[each] "``" plain(parts[++each])
            is_code = 0
        } else {
            result = result "`" (is_code ? parts[each] : plain(parts[each]))
        }
    }
    is_in_span = is_code
    return result
}

function plain(text) {
    gsub(/@/, "\\@", text)
    gsub(/#/, "\\#", text)
    gsub(/</, "\\&lt;", text)
    gsub(/--+/, "\\\\&", text)
    return text
}
