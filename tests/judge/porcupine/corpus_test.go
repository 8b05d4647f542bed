package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"
)

// line is an operation of a kept history: see tests/corpus/histories/README.md.
type line struct {
	Client  int
	Op      string
	Key     string
	Value   *string
	Call    int64 `json:"call_ns"`
	Return  int64 `json:"return_ns"`
	Outcome string
}

var kinds = map[string]kind{"get": get, "set": set, "del": del, "incr": incr}

// readHistory returns the operations of a file that say something, as the model knows them.
func readHistory(t *testing.T, file string) []porcupine.Operation {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var history []porcupine.Operation
	keys := map[string]int{}
	for _, one := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if one == "" {
			continue
		}
		var l line
		if err := json.Unmarshal([]byte(one), &l); err != nil {
			t.Fatal(file, ": ", err)
		}
		in := input{kind: kinds[l.Op]}
		if l.Outcome == "fail" || (l.Outcome == "unknown" && in.kind == get) {
			continue
		}
		if _, known := keys[l.Key]; !known {
			keys[l.Key] = len(keys)
		}
		in.key = keys[l.Key]
		value := ""
		if l.Value != nil {
			value = *l.Value
		}
		out := output{value: value}
		if in.kind == set {
			in.value, out.value = value, ""
		}
		end := l.Return
		if l.Outcome == "unknown" {
			out, end = output{unknown: true}, 1<<62
		}
		history = append(history, operation(l.Client, in, l.Call, out, end))
	}
	return history
}

func TestPorcupineAndOurCheckerAgreeOnTheKeptHistories(t *testing.T) {
	for _, verdict := range []string{"good", "bad"} {
		files, err := filepath.Glob("../../corpus/histories/" + verdict + "/*.jsonl")
		if err != nil || len(files) < 10 {
			t.Fatal("the kept histories are missing: ", verdict)
		}
		for _, file := range files {
			if porcupine.CheckOperations(register, readHistory(t, file)) != (verdict == "good") {
				t.Error(file, "is judged otherwise")
			}
		}
	}
}
