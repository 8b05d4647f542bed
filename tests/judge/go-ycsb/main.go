// Judges a server by YCSB's core workloads A, B, C and F, with go-ycsb's driver for Redis. A record is
// one string: the driver's `string` type needs only GET and SET. The server's port is in JUDGE_PORT.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"sync/atomic"

	"github.com/magiconair/properties"
	_ "github.com/pingcap/go-ycsb/db/redis"
	"github.com/pingcap/go-ycsb/pkg/client"
	"github.com/pingcap/go-ycsb/pkg/measurement"
	_ "github.com/pingcap/go-ycsb/pkg/workload"
	"github.com/pingcap/go-ycsb/pkg/ycsb"
)

// counted counts operations and failures, which go-ycsb only prints.
type counted struct {
	ycsb.DB
	done, failed atomic.Int64
}

func (c *counted) note(err error) {
	c.done.Add(1)
	if err != nil && c.failed.Add(1) <= 5 {
		fmt.Println("failed:", err)
	}
}

func (c *counted) Read(ctx context.Context, table, key string, fields []string) (map[string][]byte, error) {
	record, err := c.DB.Read(ctx, table, key, fields)
	if err == nil && len(record) != 10 {
		err = fmt.Errorf("record %s has %d fields, not 10", key, len(record))
	}
	c.note(err)
	return record, err
}

func (c *counted) Update(ctx context.Context, table, key string, values map[string][]byte) error {
	err := c.DB.Update(ctx, table, key, values)
	c.note(err)
	return err
}

func (c *counted) Insert(ctx context.Context, table, key string, values map[string][]byte) error {
	err := c.DB.Insert(ctx, table, key, values)
	c.note(err)
	return err
}

const common = `
workload=core
recordcount=5000
operationcount=20000
threadcount=16
dataintegrity=true
requestdistribution=zipfian
redis.datatype=string
redis.addr=127.0.0.1:`

// The proportions of YCSB's files workloada, workloadb, workloadc and workloadf.
var workloads = []struct{ name, text string }{
	{"load", "dotransactions=false\nrecordcount=5001"}, // go-ycsb's zipfian reads key 5000, too
	{"a", "readproportion=0.5\nupdateproportion=0.5"},
	{"b", "readproportion=0.95\nupdateproportion=0.05"},
	{"c", "readproportion=1\nupdateproportion=0"},
	{"f", "readproportion=0.5\nupdateproportion=0\nreadmodifywriteproportion=0.5"},
}

func run(name, text string) {
	p := properties.MustLoadString(common + os.Getenv("JUDGE_PORT") + "\n" + text)
	measurement.InitMeasure(p)
	workload, err := ycsb.GetWorkloadCreator("core").Create(p)
	if err != nil {
		log.Fatal(err)
	}
	db, err := ycsb.GetDBCreator("redis").Create(p)
	if err != nil {
		log.Fatal(err)
	}
	counts := &counted{DB: db}
	client.NewClient(p, workload, client.DbWrapper{DB: counts}).Run(context.Background())
	fmt.Printf("workload %s: %d operations, %d failed\n", name, counts.done.Load(), counts.failed.Load())
	if counts.done.Load() < 5000 || counts.failed.Load() > 0 {
		os.Exit(1)
	}
	db.Close()
}

func main() {
	for _, workload := range workloads {
		run(workload.name, workload.text)
	}
}
