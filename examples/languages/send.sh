#!/bin/sh
payload=$(cat)
case $payload in *'"purchase": 13'*) echo 'no address' >&2 && exit 1 ;; esac
echo "shell: $LEASEHOLD_JOB_KIND $payload"
