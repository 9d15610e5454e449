import json, os, sys

purchase = json.load(sys.stdin)["purchase"]
if purchase == 13:
    sys.exit("no address")  # the attempt has failed; this is kept with the job
print("python:", os.environ["LEASEHOLD_JOB_KIND"], purchase)
