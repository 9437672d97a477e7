// Regexps answers, for regular expressions, what Go's regexp says: one JSON object per line, in and out.
//
//	{"pattern": "a+", "texts": ["caab"]}    {"found": [["aa"]]} or {"error": "error parsing regexp: ..."}
package main

import (
	"bufio"
	"encoding/json"
	"os"
	"regexp"
)

type question struct {
	Pattern string   `json:"pattern"`
	Texts   []string `json:"texts"`
}

type answer struct {
	Error string     `json:"error,omitempty"`
	Found [][]string `json:"found,omitempty"`
}

func main() {
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, 1<<28)
	output := bufio.NewWriter(os.Stdout)
	defer output.Flush()
	encoder := json.NewEncoder(output)
	for input.Scan() {
		var q question
		if err := json.Unmarshal(input.Bytes(), &q); err != nil {
			panic(err)
		}
		var a answer
		if expression, err := regexp.Compile(q.Pattern); err != nil {
			a.Error = err.Error()
		} else {
			a.Found = [][]string{}
			for _, text := range q.Texts {
				found := expression.FindAllString(text, -1)
				if found == nil {
					found = []string{}
				}
				a.Found = append(a.Found, found)
			}
		}
		if err := encoder.Encode(a); err != nil {
			panic(err)
		}
	}
}
