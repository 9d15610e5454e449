// order DRIVER SOURCE NUMBER: a purchase and its job, in one transaction.
package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strconv"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/lib/pq"
	_ "github.com/mattn/go-sqlite3"
)

// page: begin
func order(db *sql.DB, driver string, number int) (job int64, err error) {
	tx, err := db.Begin()
	if err != nil {
		return 0, err
	}
	defer tx.Rollback() // does nothing after the commit
	if _, err = tx.Exec(fmt.Sprintf("INSERT INTO purchase VALUES (%d)", number)); err != nil {
		return 0, err
	}
	payload, _ := json.Marshal(map[string]int{"purchase": number})
	if driver == "postgres" {
		const enqueue = "SELECT leasehold_enqueue($1, $2, $3)"
		err = tx.QueryRow(enqueue, "mail", "confirm", string(payload)).Scan(&job)
	} else {
		const enqueue = "INSERT INTO leasehold_job (queue, kind, payload) VALUES (?, ?, ?)"
		var made sql.Result
		if made, err = tx.Exec(enqueue, "mail", "confirm", string(payload)); err == nil {
			job, err = made.LastInsertId()
		}
	}
	if err != nil {
		return 0, err
	}
	return job, tx.Commit()
}

// page: end

func main() {
	db, err := sql.Open(os.Args[1], os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	number, err := strconv.Atoi(os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	job, err := order(db, os.Args[1], number)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(job)
}
