#pragma once
// The files of src/cli/serve/page, as they are.
#include <string_view>

namespace leasehold::cli {

extern const std::string_view page_style;
extern const std::string_view page_script;
extern const std::string_view page_icon;

}  // namespace leasehold::cli
