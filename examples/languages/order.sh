#!/bin/sh
# order.sh NUMBER: where there is no transaction of one's own. LEASEHOLD_URL says where.
set -eu
number=$1

# page: begin
leasehold job enqueue --queue mail --kind confirm "{\"purchase\": $number}"
# page: end
