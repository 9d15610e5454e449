package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
)

func main() {
	var job struct{ Purchase int }
	if err := json.NewDecoder(os.Stdin).Decode(&job); err != nil {
		log.Fatal(err)
	}
	if job.Purchase == 13 {
		log.Fatal("no address")
	}
	fmt.Println("go:", os.Getenv("LEASEHOLD_JOB_KIND"), job.Purchase)
}
