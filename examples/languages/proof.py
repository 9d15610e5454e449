"""proof.py URL: counts a delivery, in a transaction that proves the lock it was started under."""
import os, sys
from urllib.parse import urlsplit


def connect(url):
    at = urlsplit(url)
    if at.scheme == "sqlite":
        import sqlite3
        return sqlite3.connect(at.path, timeout=10)
    if at.scheme == "mysql":
        import pymysql
        return pymysql.connect(host=at.hostname, port=at.port or 3306, user=at.username,
                               password=at.password, database=at.path[1:], charset="utf8mb4")
    import psycopg2
    return psycopg2.connect(url)


# page: begin
PROOF = {
    "postgresql": "SELECT leasehold_prove(%s, %s, %s)",
    "mysql": "SELECT 1 FROM leasehold_lock WHERE lock_key = %s AND owner = UNHEX(%s)"
             " AND fence = CAST(%s AS SIGNED) LOCK IN SHARE MODE",
    "sqlite": "SELECT 1 FROM leasehold_lock WHERE lock_key = CAST(? AS BLOB)"
              " AND lower(hex(owner)) = ? AND fence = CAST(? AS INTEGER)",
}


def prove(cursor, engine):
    lease = [os.environ["LEASEHOLD_" + each] for each in ("KEY", "OWNER", "TOKEN")]
    cursor.execute(PROOF[engine], lease)  # PostgreSQL raises an error where the lock is lost
    if cursor.fetchone() is None:
        raise RuntimeError(f"the lock {lease[0]!r} is no longer held under token {lease[2]}")


def deliver(db, engine):
    cursor = db.cursor()
    try:
        cursor.execute("UPDATE stock SET delivered = delivered + 1")
        prove(cursor, engine)
        db.commit()
    except Exception:
        db.rollback()  # or the next commit on this connection would write it
        raise
# page: end


url = sys.argv[1]
deliver(connect(url), urlsplit(url).scheme)
