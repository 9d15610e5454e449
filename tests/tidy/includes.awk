# The permitted includes between folders of src. Reads `path:line:#include "…"`; see
# check_include_direction in check.
#
# A room has three layers. Its own code comes first. Its contracts, <name>_store.hpp, say what an
# engine must be able to do: any layer above the connections may know them. Its dialects, that is
# sql_<name> and the folders of the engines, carry out the contracts, and nobody includes them.
BEGIN {
    FS = ":"
    # Left may include right. A folder not named here is not allowed; a folder may include itself.
    may["core"] = "public"
    may["contract"] = "public core"
    may["dialect"] = "public core contract"
    may["driver"] = "public core public_driver"
    may["database"] = "public core contract"
    may["session"] = "public core contract database"
    may["observe"] = "public core"
    may["locks"] = "public core contract database session"
    may["runs"] = "public core contract database session locks"
    may["jobs"] = "public core contract database session locks"
    may["claims"] = "public core contract database session"
    may["admin"] = "public core contract database session"
    may["bench"] = "public"
    may["cli"] = "public public_driver"
    may["public"] = ""
    may["public_driver"] = "public"
    # Single files that may do more, each for a reason.
    also["src/database/database.cpp sql/dialects.hpp"] = "the one place that chooses a dialect"
    also["src/database/database.cpp sql/sql_text.hpp"] = "checks table names before any dialect"
    also["src/database/database.cpp sql/transaction_words.hpp"] = "knows BEGIN of any dialect"
}

function layer_of(path,    parts) {
    sub(/^(src|include)\//, "", path)
    if (path ~ /^leasehold\/driver\//) return "public_driver"
    if (path ~ /^leasehold\//) return "public"
    if (path !~ /\//) return ""
    if (path ~ /^driver\//) return "driver"
    if (path ~ /^sql\/(store_set|written_nodes)\.hpp$/) return "contract"
    if (path ~ /^sql\// || path ~ /^[a-z]+\/sql_[^\/]*$/ || engine_of(path) != "") return "dialect"
    if (path ~ /^[a-z]+\/[a-z_]+_store\.hpp$/) return "contract"
    split(path, parts, "/")
    return parts[1]
}

# Returns mysql for src/locks/mysql/x.cpp, locks/mysql/x.hpp and src/driver/mysql_x.cpp.
function engine_of(path,    parts) {
    sub(/^src\//, "", path)
    if (path ~ /^driver\//) {
        sub(/^driver\//, "", path)
        sub(/[_.].*/, "", path)
        return path
    }
    return path ~ /^[a-z]+\/(mysql|postgres|sqlite)\// && split(path, parts, "/") ? parts[2] : ""
}

{
    file = $1
    line = $2
    what = $3
    sub(/^#include "/, "", what)
    sub(/".*/, "", what)
    # Made of migrations/ when the library is built.
    if (what ~ /^migration_texts_[a-z]+\.inc$/ && file ~ /migration_store\.cpp$/) next
    if (what ~ /^migration_names_[a-z]+\.inc$/ && file ~ /schema_store\.cpp$/) next
    # Made of bench/*.sql.
    if (what == "statements_bench.inc" && file == "bench/texts.cpp") next
    # The developer's page uses the tests' code that starts servers and counts round trips.
    if (file ~ /^bench\/table\// && what ~ /^(support|budget)\//) next
    # Made of src/<room>/<engine>/*.sql.
    if (what ~ /^statements_[a-z_]+\.inc$/ && file ~ /\/(sql_stores|statements)\.cpp$/) next
    if (what ~ /^columns_[a-z]+\.hpp$/ && layer_of(file) == "dialect") next
    # Made of src/cli/serve/page.
    if (what ~ /^(page_css|page_js|icon_svg)\.inc$/ && file == "src/cli/serve/page_files.cpp") next
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
