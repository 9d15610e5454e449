#include "cli/serve/page_files.hpp"

namespace leasehold::cli {

// The build makes the texts from src/cli/serve/page: see src/cmake/embed_files.cmake.
const std::string_view page_style =
#include "page_css.inc"
    ;
const std::string_view page_script =
#include "page_js.inc"
    ;
const std::string_view page_icon =
#include "icon_svg.inc"
    ;

}  // namespace leasehold::cli
