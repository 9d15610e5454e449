# Draws a picture of docs/diagrams: reads its text, writes SVG. A line of the text is one of these,
# and " / " begins a new line of words:
#
#   title WORDS                          size WIDTH HEIGHT
#   box ID X Y [CLASS]: WORDS            a state or a part; X and Y are its middle
#   arrow FROM > TO [BEND]: WORDS        between boxes; BEND: how far it swings to its left
#   column ID X: WORDS                   somebody in a sequence; times go down
#   span ID Y1 Y2 [CLASS]: WORDS         what holds in a column for a time
#   message FROM > TO Y [CLASS]: WORDS   from column to column
#   note X Y: WORDS                      words alone, from X on
#
# CLASS is good, bad or quiet.

function escaped(words) {
    gsub(/&/, "\\&amp;", words)
    gsub(/</, "\\&lt;", words)
    return words
}

# Words in lines, around (x, y).
function say(x, y, words, class,    count, each, part) {
    count = split(escaped(words), part, " / ")
    for (each = 1; each <= count; ++each) {
        printf "<text x=\"%d\" y=\"%d\" class=\"%s\">%s</text>\n", x,
            y + (each - (count + 1) / 2) * 16 + 4, class, part[each]
    }
}

function longest(words,    count, each, part, most) {
    count = split(words, part, " / ")
    for (each = 1; each <= count; ++each) if (length(part[each]) > most) most = length(part[each])
    lines = count
    return most
}

# Where the edge of a box is, from its middle towards (x, y).
function to_edge(id, x, y,    dx, dy, a, b) {
    dx = x - box_x[id]
    dy = y - box_y[id]
    a = dx ? box_width[id] / 2 / (dx < 0 ? -dx : dx) : 1
    b = dy ? box_height[id] / 2 / (dy < 0 ? -dy : dy) : 1
    if (b < a) a = b
    edge_x = box_x[id] + dx * a
    edge_y = box_y[id] + dy * a
}

function arrow(from, to, bend, words,    dx, dy, size, cx, cy, x1, y1) {
    dx = box_x[to] - box_x[from]
    dy = box_y[to] - box_y[from]
    size = sqrt(dx * dx + dy * dy)
    cx = (box_x[from] + box_x[to]) / 2 + dy / size * 2 * bend
    cy = (box_y[from] + box_y[to]) / 2 - dx / size * 2 * bend
    to_edge(from, cx, cy)
    x1 = edge_x
    y1 = edge_y
    to_edge(to, cx, cy)
    printf "<path class=\"arrow\" d=\"M%d %d Q%d %d %d %d\"/>\n", x1, y1, cx, cy, edge_x, edge_y
    labels[++label_count] = (x1 + 2 * cx + edge_x) / 4 "|" (y1 + 2 * cy + edge_y) / 4 "|" words
}

function known(id, of) {
    if (id in of) return
    printf "%s:%d: there is no %s\n", FILENAME, FNR, id > "/dev/stderr"
    is_wrong = 1
    exit 1
}

/^#/ || /^$/ { next }
{
    words = $0
    if (!sub(/^[^:]*: /, "", words)) words = ""
    sub(/:.*/, "")
}
$1 !~ /^(title|size|box|arrow|column|span|message|note)$/ {
    printf "%s:%d: %s is no word of a picture\n", FILENAME, FNR, $1 > "/dev/stderr"
    is_wrong = 1
    exit 1
}
$1 == "title" { title = substr($0, 7) }
$1 == "size" {
    height = $3
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" " \
        "height=\"%d\" role=\"img\">\n<title>%s</title>\n", $2, $3, $2, $3, escaped(title)
    print "<style>text{font:13px sans-serif;text-anchor:middle;fill:#1f2328}" \
        ".back{fill:#fff}.box,.span{fill:#eef4fb;stroke:#0a58ca}" \
        ".box.good,.span.good{fill:#e3f5ea;stroke:#1a7f4b}" \
        ".box.bad,.span.bad{fill:#fdeaea;stroke:#b42318}" \
        ".box.quiet,.span.quiet{fill:#eceff2;stroke:#59636e;stroke-dasharray:4 3}" \
        ".arrow{fill:none;stroke:#59636e;stroke-width:1.4;marker-end:url(#tip)}" \
        ".arrow.bad{stroke:#b42318}.tip{fill:#59636e}.life{stroke:#9aa4af}" \
        ".label{stroke:#fff;stroke-width:5px;paint-order:stroke}.start{text-anchor:start}" \
        "@media(prefers-color-scheme:dark){text{fill:#e2e6ea}.back{fill:#1b2129}" \
        ".box,.span{fill:#1c3350;stroke:#7db4ff}.box.good,.span.good{fill:#17402b;stroke:#8fdcae}" \
        ".box.bad,.span.bad{fill:#4a1f1c;stroke:#ff9c92}" \
        ".box.quiet,.span.quiet{fill:#2b323c;stroke:#a3adb8}.arrow{stroke:#a3adb8}" \
        ".arrow.bad{stroke:#ff9c92}.tip{fill:#a3adb8}.label{stroke:#1b2129}}</style>"
    print "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" " \
        "markerHeight=\"7\" orient=\"auto\"><path class=\"tip\" d=\"M0 0 L8 4 L0 8 z\"/>" \
        "</marker></defs>"
    printf "<rect class=\"back\" width=\"%d\" height=\"%d\" rx=\"6\"/>\n", $2, $3
}
$1 == "box" {
    box_x[$2] = $3
    box_y[$2] = $4
    box_width[$2] = longest(words) * 7.4 + 24
    box_height[$2] = lines * 16 + 16
    printf "<rect class=\"box %s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"6\"/>\n", $5,
        $3 - box_width[$2] / 2, $4 - box_height[$2] / 2, box_width[$2], box_height[$2]
    say($3, $4, words, "")
}
$1 == "arrow" {
    known($2, box_x)
    known($4, box_x)
    arrow($2, $4, $5, words)
}
$1 == "column" {
    column_x[$2] = $3
    printf "<line class=\"life\" x1=\"%d\" y1=\"36\" x2=\"%d\" y2=\"%d\"/>\n", $3, $3, height - 12
    say($3, 22, words, "")
}
$1 == "span" {
    known($2, column_x)
    printf "<rect class=\"span %s\" x=\"%d\" y=\"%d\" width=\"14\" height=\"%d\" rx=\"3\"/>\n",
        $5, column_x[$2] - 7, $3, $4 - $3
    if (words != "") say(column_x[$2] + 14, ($3 + $4) / 2, words, "label start")
}
$1 == "message" {
    known($2, column_x)
    known($4, column_x)
    side = column_x[$2] < column_x[$4] ? 8 : -8
    printf "<path class=\"arrow %s\" d=\"M%d %d H%d\"/>\n", $6, column_x[$2] + side, $5,
        column_x[$4] - side
    longest(words)
    say((column_x[$2] + column_x[$4]) / 2, $5 - 4 - 8 * lines, words, "label")
}
$1 == "note" { say($2, $3, words, "label start") }
END {
    if (is_wrong) exit 1
    # Above all lines.
    for (each = 1; each <= label_count; ++each) {
        split(labels[each], part, "|")
        say(part[1], part[2], part[3], "label")
    }
    print "</svg>"
}
