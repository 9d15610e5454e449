// proof DRIVER SOURCE: counts a delivery, in a transaction that proves its lock.
package main

import (
	"database/sql"
	"fmt"
	"log"
	"os"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/lib/pq"
	_ "github.com/mattn/go-sqlite3"
)

// page: begin
var proof = map[string]string{
	"postgres": "SELECT 1 FROM leasehold_prove($1, $2, $3)",
	"mysql": "SELECT 1 FROM leasehold_lock WHERE lock_key = ? AND owner = UNHEX(?)" +
		" AND fence = CAST(? AS SIGNED) LOCK IN SHARE MODE",
	"sqlite3": "SELECT 1 FROM leasehold_lock WHERE lock_key = CAST(? AS BLOB)" +
		" AND lower(hex(owner)) = ? AND fence = CAST(? AS INTEGER)",
}

func prove(tx *sql.Tx, driver string) error {
	key, token := os.Getenv("LEASEHOLD_KEY"), os.Getenv("LEASEHOLD_TOKEN")
	var held int // PostgreSQL answers with an error where the lock is lost
	err := tx.QueryRow(proof[driver], key, os.Getenv("LEASEHOLD_OWNER"), token).Scan(&held)
	if err == sql.ErrNoRows {
		return fmt.Errorf("the lock %q is no longer held under token %s", key, token)
	}
	return err
}

func deliver(db *sql.DB, driver string) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after the commit
	if _, err = tx.Exec("UPDATE stock SET delivered = delivered + 1"); err != nil {
		return err
	}
	if err = prove(tx, driver); err != nil {
		return err
	}
	return tx.Commit()
}

// page: end

func main() {
	db, err := sql.Open(os.Args[1], os.Args[2])
	if err == nil {
		err = deliver(db, os.Args[1])
	}
	if err != nil {
		log.Fatal(err)
	}
}
