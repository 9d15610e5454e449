# An overlay port, which builds the tree that it lies in:
#   vcpkg install leasehold --overlay-ports=packaging/vcpkg --no-binarycaching
# The sources are no part of the port's hash: a cache would give back the build of an older tree.
# MySQL Connector/C++ 1.1 is not in vcpkg: the driver for MySQL and MariaDB is off.
vcpkg_check_features(
    OUT_FEATURE_OPTIONS features
    FEATURES
        postgres LEASEHOLD_POSTGRES
        sqlite LEASEHOLD_SQLITE
        time-zones LEASEHOLD_TIME_ZONES
)
vcpkg_cmake_configure(
    SOURCE_PATH "${CURRENT_PORT_DIR}/../../.."
    OPTIONS
        ${features}
        -DLEASEHOLD_MYSQL=OFF
        -DLEASEHOLD_SOCI=OFF
        -DLEASEHOLD_CLI=OFF
        -DLEASEHOLD_TESTS=OFF
        -DLEASEHOLD_EXAMPLES=OFF
        -DCMAKE_UNITY_BUILD=ON
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/leasehold)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${CURRENT_PORT_DIR}/../../../LICENSE")
