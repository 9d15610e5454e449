-- Takes back 0005: nothing but the places where the clean-up goes on.
DROP TABLE {prefix}upkeep;
