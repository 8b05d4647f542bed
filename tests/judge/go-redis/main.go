// Judges a server by go-redis. The server's port, its abilities and the command that kills and
// restarts it are in JUDGE_PORT, JUDGE_ABILITIES and JUDGE_RESTART.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	ctx       = context.Background()
	abilities = strings.Fields(os.Getenv("JUDGE_ABILITIES"))
)

func expect(what string, got, want any, err error) {
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		log.Fatalf("%s: %.200v (%v), not %.200v", what, got, err, want)
	}
}

// expectReply is expect of a command's reply.
func expectReply[T any](what string, command interface{ Result() (T, error) }, want any) {
	got, err := command.Result()
	expect(what, got, want, err)
}

func expectError(what string, err error) {
	var reply redis.Error
	if !errors.As(err, &reply) || errors.Is(err, redis.Nil) {
		log.Fatalf("%s: '%v' is no error of the server", what, err)
	}
}

func connect(protocol int) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:" + os.Getenv("JUDGE_PORT"), Protocol: protocol, MaxRetries: -1, PoolSize: 300})
}

func stringCommands(c *redis.Client) {
	expectReply("SET", c.Set(ctx, "a", "1", 0), "OK")
	expectReply("GET", c.Get(ctx, "a"), "1")
	expect("GET of a missing key", c.Get(ctx, "missing").Err(), redis.Nil, nil)
	expect("SET NX", c.SetArgs(ctx, "a", "2", redis.SetArgs{Mode: "NX"}).Err(), redis.Nil, nil)
	expectReply("SET XX GET", c.SetArgs(ctx, "a", "2", redis.SetArgs{Mode: "XX", Get: true}), "1")
	expectReply("SETNX", c.SetNX(ctx, "a", "3", 0), false)
	expectReply("GETSET", c.GetSet(ctx, "a", "4"), "2")
	expectReply("STRLEN", c.StrLen(ctx, "a"), 1)
	expectReply("TYPE", c.Type(ctx, "a"), "string")
	expectReply("MSET", c.MSet(ctx, "b", "x", "c", "y"), "OK")
	expectReply("MGET", c.MGet(ctx, "b", "missing", "c"), []any{"x", nil, "y"})
	expectReply("EXISTS", c.Exists(ctx, "a", "b", "missing"), 2)
	expectReply("DEL", c.Del(ctx, "a", "b", "c", "missing"), 3)
}

func values(c *redis.Client) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	large := slices.Repeat(all, 1<<12) // 1 MiB
	for _, value := range [][]byte{all, {}, large, []byte("\r\n$-1\r\n")} {
		expectReply("SET", c.Set(ctx, string(all), value, 0), "OK")
		got, err := c.Get(ctx, string(all)).Bytes()
		expect(fmt.Sprintf("a value of %d bytes", len(value)), slices.Equal(got, value), true, err)
	}
	expectReply("DEL", c.Del(ctx, string(all)), 1)
}

func pipelines(c *redis.Client) {
	replies, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range 1000 {
			p.Set(ctx, fmt.Sprint("p", i), fmt.Sprint("v", i), 0)
		}
		for i := range 1000 {
			p.Get(ctx, fmt.Sprint("p", 999-i))
		}
		return nil
	})
	expect("a pipeline", len(replies), 2000, err)
	for i := range 1000 {
		expect("SET in a pipeline", replies[i].(*redis.StatusCmd).Val(), "OK", nil)
		expect("GET in a pipeline", replies[1000+i].(*redis.StringCmd).Val(), fmt.Sprint("v", 999-i), nil)
	}
	found := map[string]bool{}
	keys := c.Scan(ctx, 0, "p*", 100).Iterator()
	for keys.Next(ctx) {
		found[keys.Val()] = true
	}
	expect("SCAN", len(found), 1000, keys.Err())
}

func connections(c *redis.Client) {
	var all sync.WaitGroup
	for n := range 100 {
		all.Go(func() {
			own := c.Conn()
			defer own.Close()
			for i := range 20 {
				key := fmt.Sprint("c", n, ":", i)
				expectReply("SET", own.Set(ctx, key, key, 0), "OK")
				expectReply("GET", c.Get(ctx, key), key)
			}
		})
	}
	all.Wait()
}

func errorReplies(c *redis.Client) {
	expectError("an unknown command", c.Do(ctx, "NOSUCH").Err())
	expectError("GET without a key", c.Do(ctx, "GET").Err())
	expectReply("PING", c.Ping(ctx), "PONG")
}

func abilitiesOf(c *redis.Client) {
	replies, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, "t", "1", 0)
		return p.Get(ctx, "t").Err()
	})
	if slices.Contains(abilities, "transactions") {
		expect("MULTI", replies[1].(*redis.StringCmd).Val(), "1", err)
	} else {
		expectError("MULTI", err)
	}
	err = c.Set(ctx, "e", "1", 50*time.Millisecond).Err()
	if slices.Contains(abilities, "expiry") {
		time.Sleep(100 * time.Millisecond)
		expect("a key that expired", c.Get(ctx, "e").Err(), redis.Nil, err)
	} else {
		expectError("SET PX", err)
	}
	count, err := c.Incr(ctx, "n").Result()
	if slices.Contains(abilities, "incr") {
		expect("INCR", count > 0, true, err)
	} else {
		expectError("INCR", err)
	}
}

func crash(c *redis.Client) {
	restarted := make(chan error, 1)
	go func() { restarted <- exec.Command("sh", "-c", os.Getenv("JUDGE_RESTART")).Run() }()
	var acknowledged []int
	failed, after := 0, -1
	for i := 0; after < 200; i++ {
		err := c.Set(ctx, fmt.Sprint("k", i), i, 0).Err()
		if err == nil {
			acknowledged = append(acknowledged, i)
		} else if failed++; failed > 1000 {
			log.Fatal("the client does not reconnect: ", err)
		} else {
			time.Sleep(10 * time.Millisecond)
		}
		select {
		case err := <-restarted:
			expect("the restart", 0, 0, err)
			after = 0
		default:
		}
		if after >= 0 && err == nil {
			after++
		}
	}
	for _, i := range acknowledged {
		got, err := c.Get(ctx, fmt.Sprint("k", i)).Int()
		expect("an acknowledged write", got, i, err)
	}
	fmt.Println(len(acknowledged), "acknowledged writes kept,", failed, "failed")
}

func main() {
	for _, protocol := range []int{2, 3} {
		c := connect(protocol)
		expectReply("FLUSHALL", c.FlushAll(ctx), "OK")
		for _, part := range []func(*redis.Client){
			stringCommands, values, pipelines, errorReplies, abilitiesOf, crash, connections} {
			part(c)
		}
		fmt.Println("RESP", protocol, "passed")
	}
}
