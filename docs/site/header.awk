# Makes comments of the headers readable for Doxygen, which sees /// alone: the block behind
# `#pragma once` becomes the page of its file, a block before a declaration that declaration's text,
# and what stands behind a declaration its text too. Numbers of lines stay as they are where that
# can be: warnings name them.

function flush_table(    row, column, cells, line) {
    for (row = 1; row <= rows; ++row) {
        line = "/// |"
        for (column = 1; column <= columns; ++column) line = line " " table[row, column] " |"
        print indent line
    }
    rows = 0
    # Under the first table, which has the states, that of docs/diagrams which shows them.
    if (picture != "") {
        print indent "///\n" indent "/// <img src=\"" name ".svg\" alt=\"" picture "\"/>\n///"
        picture = ""
    }
}

# A row whose first cell is empty goes on with the one above it.
function add_row(text,    cells, count, column) {
    sub(/^\| */, "", text)
    sub(/ *\|$/, "", text)
    count = split(text, cells, / *\| */)
    if (rows == 0) columns = count
    if (rows > 1 && cells[1] == "") {
        for (column = 2; column <= columns; ++column) {
            if (cells[column] == "") continue
            table[rows, column] = table[rows, column] " " prose(cells[column])
        }
        return
    }
    ++rows
    for (column = 1; column <= columns; ++column) {
        table[rows, column] = rows == 2 ? "---" : prose(cells[column])
    }
}

function block(is_file,    each, text, is_code, was_blank, blanks) {
    if (is_file) print "/// \\file"
    is_code = blanks = 0
    was_blank = 1
    for (each = 1; each <= lines; ++each) {
        text = comment[each]
        sub(/^ *\/\/ ?/, "", text)
        if (rows && text !~ /^\|/) flush_table()
        if (text == "") {
            is_in_span = 0
            ++blanks
            was_blank = 1
            continue
        }
        if (is_code && text !~ /^  /) {
            print indent "/// ~~~"
            is_code = 0
        }
        for (; blanks; --blanks) print indent "///"
        if (text ~ /^\|/) {
            if (!rows && !was_blank) print indent "///"
            add_row(text)
        } else if (is_code || (was_blank && text ~ /^  /)) {
            if (!is_code) print indent "/// ~~~{.cpp}"
            is_code = 1
            print indent "/// " substr(text, 3)
        } else {
            if (starts_term(text) && !was_blank && is_file) print indent "///"
            print indent "/// " (is_file ? term(prose(text)) : prose(text))
        }
        was_blank = 0
    }
    if (rows) flush_table()
    if (is_code) print indent "/// ~~~"
    lines = is_in_span = 0
}

# A new paragraph, as the comment has it by its line break.
function starts_term(text) {
    return text ~ /^(Promises|Does not promise|Threads|Errors|Cost|Source|Isolation|Warnings): /
}

function term(text) {
    if (starts_term(text)) {
        match(text, /^(Does not promise|[A-Z][a-z]+): /)
        text = "**" substr(text, 1, RLENGTH - 1) "** " substr(text, RLENGTH + 1)
    }
    return text
}

function as_is(    each) {
    for (each = 1; each <= lines; ++each) print comment[each]
    lines = 0
}

# The inside of a class is nobody's business.
/^private:/ || /^ *class implementation;/ { is_private = 1 }
/^};/ { is_private = 0 }
is_private {
    as_is()
    print ""
    next
}
/^#pragma once/ {
    print
    is_first = 1
    next
}
/^ *\/\/ ----/ {
    as_is()
    print
    next
}
/^ *\/\// {
    if (!lines) {
        match($0, /^ */)
        indent = substr($0, 1, RLENGTH)
    }
    comment[++lines] = $0
    next
}
{
    if (lines) {
        if (is_first) block(1)
        else if ($0 ~ /^ *($|[})]|namespace )/) as_is()
        else block(0)
    }
    # The text of a header is about the class of its name.
    else if ($0 ~ ("^(class|struct) (.* )?" name "[ <].*\\{$") ||
             ($0 == "class " name ";" && last ~ /^template/)) {
        print "/// \\copydoc " header
    }
    is_first = 0
    if (match($0, /[;,{}] *\/\/ /) || match($0, /^ *[a-z_0-9 =]+ *\/\/ /)) {
        head = substr($0, 1, RSTART + RLENGTH - 4)
        tail = substr($0, RSTART + RLENGTH)
        if (tail !~ /^(private: |namespace )/ && head !~ /^(}|struct |class )/) {
            print head "///< " prose(tail)
            next
        }
    }
    last = $0
    print
}
