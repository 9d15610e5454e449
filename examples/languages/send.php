<?php
$purchase = json_decode(stream_get_contents(STDIN), flags: JSON_THROW_ON_ERROR)->purchase;
if ($purchase == 13) {
    fwrite(STDERR, "no address\n");
    exit(1);
}
echo 'php: ', getenv('LEASEHOLD_JOB_KIND'), " $purchase\n";
