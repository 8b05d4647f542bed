package main

import (
	"fmt"
	"strconv"

	"github.com/anishathalye/porcupine"
)

type kind int

const (
	get kind = iota
	set
	setnx
	getset
	del
	incr
)

type input struct {
	kind  kind
	key   int
	value string
}

// output is the answer: the value that was read, or for setnx whether it was set.
type output struct {
	unknown bool   // no answer came
	value   string // "" if there is none
	done    bool
}

// register is Porcupine's model of one key. Its state is the value, "" if there is none.
var register = porcupine.Model{
	Partition: byKey,
	Init:      func() any { return "" },
	Step: func(state, in, out any) (bool, any) {
		return step(state.(string), in.(input), out.(output))
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprint(in, " -> ", out) },
}

func step(value string, in input, out output) (bool, string) {
	switch in.kind {
	case get:
		return out.unknown || out.value == value, value
	case setnx:
		next := value
		if value == "" {
			next = in.value
		}
		return out.unknown || out.done == (value == ""), next
	case getset:
		return out.unknown || out.value == value, in.value
	case del:
		return true, ""
	case incr: // an absent key counts as 0
		number, err := strconv.ParseInt("0"+value, 10, 64)
		if err != nil {
			return out.unknown, value
		}
		next := strconv.FormatInt(number+1, 10)
		return out.unknown || out.value == next, next
	default:
		return true, in.value
	}
}

func byKey(history []porcupine.Operation) [][]porcupine.Operation {
	keys := map[int][]porcupine.Operation{}
	for _, operation := range history {
		key := operation.Input.(input).key
		keys[key] = append(keys[key], operation)
	}
	var parts [][]porcupine.Operation
	for _, part := range keys {
		parts = append(parts, part)
	}
	return parts
}
