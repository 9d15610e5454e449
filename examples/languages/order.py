"""order.py URL NUMBER: a purchase and the job that mails its confirmation, in one transaction."""
import json
import sys
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
ENQUEUE = {
    "postgresql": "SELECT leasehold_enqueue(%s, %s, %s)",
    "mysql": "INSERT INTO leasehold_job (queue, kind, payload) VALUES (%s, %s, %s)",
    "sqlite": "INSERT INTO leasehold_job (queue, kind, payload) VALUES (?, ?, ?)",
}


def order(db, engine, number):
    cursor = db.cursor()
    cursor.execute(f"INSERT INTO purchase VALUES ({number:d})")
    cursor.execute(ENQUEUE[engine], ("mail", "confirm", json.dumps({"purchase": number})))
    job = cursor.fetchone()[0] if engine == "postgresql" else cursor.lastrowid
    db.commit()
    return job
# page: end


url, number = sys.argv[1:]
print(order(connect(url), urlsplit(url).scheme, int(number)))
