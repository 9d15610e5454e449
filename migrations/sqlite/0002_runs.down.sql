-- Takes back 0002: it is forgotten which fire times were run, so that the current ones run again.
DROP TABLE {prefix}run;
