// Command router-go FILE ROUNDS MILLISECONDS measures httprouter and chi on the routes and lookups of FILE, as bench/router_lookup.c does it
// for uvhttp. httprouter is asked through ServeHTTP, where it recycles its parameters; chi through Match with one context, so without
// what handing the request to a handler costs.
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/julienschmidt/httprouter"
)

type lookup struct {
	path    string
	request *http.Request
	number  int
	params  int
}

type contender struct {
	Name    string    `json:"name"`
	Version string    `json:"version"`
	Rounds  []float64 `json:"rounds"`
}

func fail(text string) {
	fmt.Fprintln(os.Stderr, "router-go: "+text)
	os.Exit(1)
}

func readSet(file string) (patterns []string, lookups []lookup) {
	text, err := os.ReadFile(file)
	if err != nil {
		fail(err.Error())
	}
	parts := strings.SplitN(strings.TrimRight(string(text), "\n"), "\n\n", 2)
	for _, line := range strings.Split(parts[1], "\n") {
		fields := strings.SplitN(line, " ", 3)
		number, _ := strconv.Atoi(fields[0])
		params, _ := strconv.Atoi(fields[1])
		request := &http.Request{Method: "GET", URL: &url.URL{Path: fields[2]}}
		lookups = append(lookups, lookup{fields[2], request, number + 1, params})
	}
	return strings.Split(parts[0], "\n"), lookups
}

// cpuTime is what this process has spent: while somebody else has the core, it stands still.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		fail(err.Error())
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// measure returns nanoseconds per lookup; look gives the number of the route (0 where that is not known), how many parameters there
// are, and how long they are together.
func measure(lookups []lookup, rounds int, least time.Duration, look func(*lookup) (int, int, int)) []float64 {
	known := 0
	for i := range lookups {
		number, count, length := look(&lookups[i])
		if (number != 0 && number != lookups[i].number) || count != lookups[i].params {
			fail(lookups[i].path + " finds another route")
		}
		known += number + length
	}
	var result []float64
	for round := 0; round < rounds; round++ {
		sum, times := 0, 0
		var elapsed time.Duration
		start := cpuTime()
		for elapsed < least {
			for step := 0; step < 16; step++ {
				for i := range lookups {
					number, _, length := look(&lookups[i])
					sum += number + length
				}
				times++
			}
			elapsed = cpuTime() - start
		}
		if sum != times*known {
			fail("a lookup went wrong")
		}
		result = append(result, float64(elapsed.Nanoseconds())/float64(times*len(lookups)))
	}
	return result
}

func withHttprouter(patterns []string) func(*lookup) (int, int, int) {
	var foundNumber, foundCount, foundLength int
	router := httprouter.New()
	for i, pattern := range patterns {
		number := i + 1
		router.GET(pattern, func(_ http.ResponseWriter, _ *http.Request, params httprouter.Params) {
			foundNumber, foundCount, foundLength = number, len(params), 0
			for _, param := range params {
				foundLength += len(param.Value)
			}
		})
	}
	return func(one *lookup) (int, int, int) {
		router.ServeHTTP(nil, one.request)
		return foundNumber, foundCount, foundLength
	}
}

func withChi(patterns []string) func(*lookup) (int, int, int) {
	router := chi.NewRouter()
	for _, pattern := range patterns {
		segments := strings.Split(pattern, "/")
		for i, segment := range segments {
			if strings.HasPrefix(segment, ":") {
				segments[i] = "{" + segment[1:] + "}"
			} else if strings.HasPrefix(segment, "*") {
				segments[i] = "*"
			}
		}
		router.Get(strings.Join(segments, "/"), func(http.ResponseWriter, *http.Request) {})
	}
	context := chi.NewRouteContext()
	return func(one *lookup) (int, int, int) {
		context.Reset()
		if !router.Match(context, "GET", one.path) {
			return -1, 0, 0
		}
		length := 0
		for _, value := range context.URLParams.Values {
			length += len(value)
		}
		return 0, len(context.URLParams.Values), length
	}
}

func versionOf(module string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, one := range info.Deps {
			if one.Path == module {
				return strings.TrimPrefix(one.Version, "v")
			}
		}
	}
	return "version unknown"
}

func main() {
	if len(os.Args) != 4 {
		fail("usage: router-go FILE ROUNDS MILLISECONDS")
	}
	patterns, lookups := readSet(os.Args[1])
	rounds, _ := strconv.Atoi(os.Args[2])
	milliseconds, _ := strconv.Atoi(os.Args[3])
	least := time.Duration(milliseconds) * time.Millisecond
	json.NewEncoder(os.Stdout).Encode([]contender{
		{"httprouter", versionOf("github.com/julienschmidt/httprouter"), measure(lookups, rounds, least, withHttprouter(patterns))},
		{"chi", versionOf("github.com/go-chi/chi/v5"), measure(lookups, rounds, least, withChi(patterns))},
	})
}
