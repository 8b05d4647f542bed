// Judges whether a server is linearizable: several clients read and write few keys, and Porcupine
// searches for an order of the operations that explains all answers. With JUDGE_RESTART, the server is
// killed and restarted in the middle. The server's port is in JUDGE_PORT.
package main

import (
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// client does one operation on a register. An error means that the outcome is unknown.
type client interface {
	do(in input) (output, error)
}

func connect(kind, address string) client {
	if kind == "http" {
		return newHTTPClient(address)
	}
	return &respClient{address: address}
}

// recorder makes operations and keeps their history.
type recorder struct {
	start   time.Time
	mutex   sync.Mutex
	history []porcupine.Operation
	unknown int
}

func (r *recorder) now() int64 { return int64(time.Since(r.start)) }

// run makes operations until `end`. After an unknown outcome it goes on under another client's number,
// because the operation may take effect at any later time.
func (r *recorder) run(c client, number, keys int, kinds []kind, end time.Time) {
	var own []porcupine.Operation
	unknown := 0
	for i := 0; time.Now().Before(end); i++ {
		in := input{kinds[rand.IntN(len(kinds))], rand.IntN(keys), fmt.Sprint(number, ".", i)}
		call := r.now()
		out, err := c.do(in)
		operation := porcupine.Operation{ClientId: number, Input: in, Call: call, Output: out, Return: r.now()}
		if err != nil {
			unknown++
			number += 1000
			operation.Return = 1 << 62
			operation.Output = output{unknown: true}
			time.Sleep(20 * time.Millisecond)
		}
		if err == nil || in.kind != get { // a read without an answer says nothing
			own = append(own, operation)
		}
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.history = append(r.history, own...)
	r.unknown += unknown
}

func main() {
	protocol := flag.String("protocol", "resp", "resp or http")
	clients := flag.Int("clients", 8, "number of clients")
	keys := flag.Int("keys", 4, "number of keys")
	duration := flag.Duration("duration", 6*time.Second, "length of the load")
	flag.Parse()

	kinds := []kind{get, get, set, setnx, getset}
	if *protocol == "http" {
		kinds = []kind{get, get, set}
	}
	r := &recorder{start: time.Now()}
	end := r.start.Add(*duration)
	var all sync.WaitGroup
	for n := range *clients {
		all.Add(1)
		go func() {
			defer all.Done()
			r.run(connect(*protocol, "127.0.0.1:"+os.Getenv("JUDGE_PORT")), n, *keys, kinds, end)
		}()
	}
	if restart := os.Getenv("JUDGE_RESTART"); restart != "" {
		time.Sleep(*duration / 3)
		if err := exec.Command("sh", "-c", restart).Run(); err != nil {
			log.Fatal("cannot restart the server: ", err)
		}
	}
	all.Wait()

	answered := len(r.history) - r.unknown
	fmt.Println(len(r.history), "operations,", r.unknown, "without an answer")
	if answered < 100 {
		log.Fatal("too few operations were answered: ", answered)
	}
	switch result := porcupine.CheckOperationsTimeout(register, r.history, 2*time.Minute); result {
	case porcupine.Ok:
		fmt.Println("linearizable")
	default:
		log.Fatal("not linearizable: Porcupine says ", result)
	}
}
