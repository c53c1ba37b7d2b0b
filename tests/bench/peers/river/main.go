// river_drain URL JOBS WORKERS: stores a backlog of jobs that do nothing with River, then measures how fast its
// client completes them. Prints one line of JSON. The client fetches as often as River allows, and its pool is as
// large as awa's.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

const (
	textBytes   = 1000
	batch       = 5000
	connections = 20
)

type noop struct {
	Text string `json:"text"`
}

func (noop) Kind() string { return "noop" }

var worked atomic.Int64

type worker struct {
	river.WorkerDefaults[noop]
}

func (worker) Work(context.Context, *river.Job[noop]) error {
	worked.Add(1)
	return nil
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	check(err)
	return value
}

func store(ctx context.Context, client *river.Client[pgx.Tx], jobs int) {
	text := strings.Repeat("x", textBytes)
	for first := 0; first < jobs; first += batch {
		params := make([]river.InsertManyParams, min(batch, jobs-first))
		for i := range params {
			params[i] = river.InsertManyParams{Args: noop{text}}
		}
		_, err := client.InsertManyFast(ctx, params)
		check(err)
	}
}

// River writes the ends of jobs some time after they have worked.
func wait(ctx context.Context, pool *pgxpool.Pool, jobs int) {
	for worked.Load() < int64(jobs) {
		time.Sleep(5 * time.Millisecond)
	}
	for left := 1; left > 0; time.Sleep(20 * time.Millisecond) {
		check(pool.QueryRow(ctx, "SELECT count(*) FROM river_job WHERE state <> 'completed'").Scan(&left))
	}
}

func main() {
	ctx := context.Background()
	url, jobs, workers := os.Args[1], number(os.Args[2]), number(os.Args[3])
	config, err := pgxpool.ParseConfig(url)
	check(err)
	config.MaxConns = connections
	pool, err := pgxpool.NewWithConfig(ctx, config)
	check(err)
	driver := riverpgxv5.New(pool)
	migrator, err := rivermigrate.New(driver, nil)
	check(err)
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	check(err)
	all := river.NewWorkers()
	river.AddWorker(all, worker{})
	client, err := river.NewClient(driver, &river.Config{
		FetchCooldown:     time.Millisecond,
		FetchPollInterval: 5 * time.Millisecond,
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}},
		Workers:           all,
	})
	check(err)
	store(ctx, client, jobs)
	began := time.Now()
	check(client.Start(ctx))
	wait(ctx, pool, jobs)
	seconds := time.Since(began).Seconds()
	check(client.Stop(ctx))
	fmt.Printf("{\"jobs\":%d,\"seconds\":%.4f,\"per_second\":%.1f}\n", jobs, seconds, float64(jobs)/seconds)
}
