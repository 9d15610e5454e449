// One driver as a module, for open_loaded.cpp: compiled once for each, with LEASEHOLD_MODULE_DRIVER
// for its name.
// The types of its exceptions and of the objects it hands over are those of the program, too: both
// are of one build, and its file has the version in its name.
#include "driver/open_drivers.hpp"
#include "leasehold/export.hpp"
#include LEASEHOLD_MODULE_HEADER

extern "C" {
LEASEHOLD_EXPORT extern const leasehold::opener leasehold_driver;
const leasehold::opener leasehold_driver = &leasehold::LEASEHOLD_MODULE_DRIVER::open;
}
