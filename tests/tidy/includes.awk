# The permitted includes between folders. Reads `path:line:#include "…"`; see
# check_include_direction in check.
BEGIN {
    FS = ":"
    # Left may include right. A folder not named here is not allowed; a folder may include itself.
    may["core"] = "public"
    may["store"] = "public core"
    may["dialect"] = "public core store"
    may["driver"] = "public core public_driver"
    may["database"] = "public core store"
    may["session"] = "public core store database"
    may["observe"] = "public core"
    may["lock"] = "public core store database session"
    may["once"] = "public core store database session lock"
    may["job"] = "public core store database session lock"
    may["claim"] = "public core store database session"
    may["upkeep"] = "public core store database session"
    may["bench"] = "public"
    may["cli"] = "public public_driver"
    may["public"] = ""
    may["public_driver"] = "public"
    # Single files that may do more, each for a reason.
    also["src/database/database.cpp dialect/dialects.hpp"] = "the one place that chooses a dialect"
    also["src/database/database.cpp dialect/sql_text.hpp"] = "checks table names before any dialect"
    also["src/database/database.cpp dialect/installations.hpp"] = "tables of no store in particular"
}

function layer_of(path,    parts) {
    sub(/^(src|include)\//, "", path)
    if (path ~ /^leasehold\/driver\//) return "public_driver"
    if (path ~ /^leasehold\//) return "public"
    if (path !~ /\//) return ""
    split(path, parts, "/")
    return parts[1]
}

# Returns mysql for src/dialect/mysql/x.cpp, dialect/mysql/x.hpp and src/driver/mysql_x.cpp.
function engine_of(path,    name) {
    sub(/^src\//, "", path)
    if (path ~ /^dialect\/[^\/]+\//) {
        name = path
        sub(/^dialect\//, "", name)
        sub(/\/.*/, "", name)
        return name
    }
    if (path ~ /^driver\//) {
        name = path
        sub(/^driver\//, "", name)
        sub(/[_.].*/, "", name)
        return name
    }
    return ""
}

{
    file = $1
    line = $2
    what = $3
    sub(/^#include "/, "", what)
    sub(/".*/, "", what)
    # Made of migrations/ when the library is built.
    if (what ~ /^migrations_[a-z]+\.inc$/ && file ~ /schema_store\.cpp$/) next
    # Made of bench/*.sql.
    if (what == "statements_bench.inc" && file == "bench/texts.cpp") next
    # The developer's page uses the tests' code that starts servers and counts round trips.
    if (file ~ /^bench\/table\// && what ~ /^(support|budget)\//) next
    # Made of src/dialect/<engine>/*.sql.
    if (what ~ /^statements_[a-z]+\.inc$/ && file == "src/dialect/statements.cpp") next
    # Made of src/cli/page.
    if (what ~ /^(page_css|page_js|icon_svg)\.inc$/ && file == "src/cli/page_files.cpp") next
    from = layer_of(file)
    to = layer_of(what)
    if (to == "") {
        printf "%s:%d: \"%s\" is not a path from include/ or src/\n", file, line, what
        next
    }
    if ((file " " what) in also) next
    is_allowed = from == to || index(" " may[from] " ", " " to " ")
    if (is_allowed && from == to && engine_of(file) != "" && engine_of(what) != "") {
        # A dialect, or a driver, does not know another; SOCI's stands on MySQL's text and errors.
        is_allowed = engine_of(file) == engine_of(what) || engine_of(file) == "soci"
        if (file ~ /^src\/driver\/mysql/ && engine_of(what) == "soci") is_allowed = 0
    }
    if (!is_allowed) {
        printf "%s:%d: %s may not include %s (%s)\n", file, line, from, to, what
    }
}
