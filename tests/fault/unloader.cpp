// Loads a library whose objects stand at namespace scope, and unloads it, for fork_test.cpp:
//
//   unloader LIBRARY URL PREFIX KEY   calls the library's hold_in_statics() with the others; says
//                                     "unloaded", or "still loaded", and ends by the next line
#include <dlfcn.h>

#include <iostream>
#include <string>

int main(int count, char** arguments) {
    if (count < 2) return 64;
    void* const library = ::dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        std::cerr << ::dlerror() << '\n';  // NOLINT(concurrency-mt-unsafe): the only thread
        return 1;
    }
    using entry = int (*)(int, char**);
    const auto hold = reinterpret_cast<entry>(::dlsym(library, "hold_in_statics"));
    const int status = hold == nullptr ? 1 : hold(count - 1, arguments + 1);
    ::dlclose(library);
    const bool stays = ::dlopen(arguments[1], RTLD_NOW | RTLD_NOLOAD) != nullptr;
    std::cout << (stays ? "still loaded" : "unloaded") << std::endl;
    std::string next;
    std::getline(std::cin, next);
    return status;
}
