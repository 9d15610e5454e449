#!/usr/bin/env python3
"""Halves a picture: a worker in Python.

    leasehold job enqueue --queue images '{"from": "big.pgm", "to": "small.pgm"}'
    leasehold work --queue images -- python3 resize.py

The payload comes on standard input. Status 0 completes the job; whatever is raised fails the
attempt, and its last words are kept with the job. A picture that is not there yet: 75, later.
"""
import json
import os
import sys

if len(sys.argv) > 1:
    print("Usage: resize.py\n\n" + __doc__)
    sys.exit(0 if sys.argv[1:] == ["--help"] else 64)
job = json.load(sys.stdin)
if not os.path.exists(job["from"]):
    sys.exit(75)
with open(job["from"]) as picture:
    kind, width, height, brightest, *pixels = picture.read().split()
if kind != "P2":
    raise ValueError(f"{job['from']} is no plain PGM picture")
width, height = int(width), int(height)
rows = [pixels[y * width:(y + 1) * width:2] for y in range(0, height, 2)]
# Another worker may do this job at the same time, where this one was taken for dead: each writes a
# file of its own, and the last rename wins.
written = f"{job['to']}.{os.environ['LEASEHOLD_JOB_TOKEN']}"
with open(written, "w") as picture:
    print("P2", (width + 1) // 2, (height + 1) // 2, brightest, file=picture)
    for row in rows:
        print(*row, file=picture)
os.replace(written, job["to"])
