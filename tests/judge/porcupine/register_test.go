package main

import (
	"testing"

	"github.com/anishathalye/porcupine"
)

func operation(client int, in input, call int64, out output, end int64) porcupine.Operation {
	return porcupine.Operation{ClientId: client, Input: in, Call: call, Output: out, Return: end}
}

func TestALegalHistoryIsLegal(t *testing.T) {
	history := []porcupine.Operation{
		operation(0, input{set, 0, "a"}, 0, output{}, 10),
		operation(1, input{get, 0, ""}, 5, output{value: "a"}, 15),
		operation(0, input{setnx, 0, "b"}, 20, output{done: false}, 30),
		operation(1, input{getset, 0, "c"}, 40, output{value: "a"}, 50),
		operation(2, input{set, 0, "d"}, 60, output{unknown: true}, 1<<62),
		operation(0, input{get, 0, ""}, 70, output{value: "c"}, 80),
		operation(1, input{get, 0, ""}, 90, output{value: "d"}, 95),
	}
	if !porcupine.CheckOperations(register, history) {
		t.Error("a legal history is called illegal")
	}
}

func TestDoctoredHistoriesAreIllegal(t *testing.T) {
	written := operation(0, input{set, 0, "a"}, 0, output{}, 10)
	newer := operation(0, input{set, 0, "b"}, 20, output{}, 30)
	for name, doctored := range map[string][]porcupine.Operation{
		"a lost write":          {written, operation(1, input{get, 0, ""}, 20, output{}, 30)},
		"a stale read":          {written, newer, operation(1, input{get, 0, ""}, 40, output{value: "a"}, 50)},
		"a value of nobody":     {written, operation(1, input{get, 0, ""}, 20, output{value: "x"}, 30)},
		"setnx of a known key":  {written, operation(1, input{setnx, 0, "b"}, 20, output{done: true}, 30)},
		"getset of an old one":  {written, newer, operation(1, input{getset, 0, "c"}, 40, output{value: "a"}, 50)},
		"a read that goes back": {written, operation(2, input{set, 0, "d"}, 20, output{unknown: true}, 1<<62), operation(1, input{get, 0, ""}, 40, output{value: "d"}, 50), operation(1, input{get, 0, ""}, 60, output{value: "a"}, 70)},
	} {
		if porcupine.CheckOperations(register, doctored) {
			t.Error(name, "is called legal")
		}
	}
}
