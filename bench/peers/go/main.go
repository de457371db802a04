// SPDX-License-Identifier: Apache-2.0

// The Go runtime as a peer: the frame of peer.h (here) and the rows of rows.h (rows.go) once
// more, since neither can be shared with it. Standard library only.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type run struct {
	Row      string `json:"row"`
	Offered  bool   `json:"offered"`
	Version  string `json:"version"`
	Ops      uint64 `json:"ops"`
	WallNs   uint64 `json:"wall_ns"`
	CPUNs    uint64 `json:"cpu_ns"`
	RSSBytes uint64 `json:"rss_bytes"`
	PTEBytes uint64 `json:"pte_bytes"`
	Verified bool   `json:"verified"`
	threads  uint64
}

type row struct {
	body     func(*run) bool
	firstOps uint64
	fixedOps uint64 // nonzero: this number, once, without warm-up
	threads  uint64 // unless ROW-N asks for N; 0: the row knows their number itself
}

func check(err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "go: measuring failed: %v\n", err)
		os.Exit(1)
	}
}

func cpuNow() uint64 {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return uint64(usage.Utime.Nano() + usage.Stime.Nano())
}

var wallStart time.Time

func (r *run) clockStart() {
	r.CPUNs = cpuNow()
	wallStart = time.Now()
}

func (r *run) clockStop() {
	r.WallNs = uint64(time.Since(wallStart).Nanoseconds())
	r.CPUNs = cpuNow() - r.CPUNs
}

// memoryNow returns resident memory and page tables in bytes.
func memoryNow() (rss, pte uint64) {
	status, err := os.ReadFile("/proc/self/status")
	check(err)
	for _, line := range strings.Split(string(status), "\n") {
		if n, _ := fmt.Sscanf(line, "VmRSS: %d", &rss); n == 1 {
			continue
		}
		fmt.Sscanf(line, "VmPTE: %d", &pte)
	}
	return rss * 1024, pte * 1024
}

// measure warms up in rounds of growing length; the first one after the warm-up that fills at
// least half of the time is the measurement.
func (w row) measure(r *run, ms int) bool {
	goal := float64(ms) * 1e6
	if w.fixedOps != 0 {
		r.Ops = w.fixedOps
	}
	if r.Ops != 0 {
		return w.body(r)
	}
	r.Ops = w.firstOps
	for warm := false; ; warm = true {
		if !w.body(r) {
			return false
		}
		if warm && float64(r.WallNs) >= goal/2 {
			return true
		}
		r.Ops = uint64(float64(r.Ops)*math.Min(16, goal/float64(r.WallNs+1))) + 1
	}
}

func usageError(format string, args ...any) {
	fmt.Fprintf(flag.CommandLine.Output(), "go: "+format+" (see --help)\n", args...)
	os.Exit(2)
}

func number(text string, max int, what string) int {
	value, err := strconv.Atoi(text)
	if err != nil || value < 1 || value > max {
		usageError("%s: not a number from 1 to %d: %s", what, max, text)
	}
	return value
}

// findRow finds the row of a name, which may end with a number of threads.
func findRow(name string) (found row, threads uint64, offered bool) {
	if found, offered = rows[name]; offered {
		return found, found.threads, true
	}
	dash := strings.LastIndex(name, "-")
	if dash < 0 {
		return row{}, 0, false
	}
	found, offered = rows[name[:dash]]
	threads, err := strconv.ParseUint(name[dash+1:], 10, 20)
	return found, threads, offered && found.threads != 0 && err == nil && threads > 0
}

func main() {
	ops := flag.Uint64("ops", 0, "exactly so many operations, once, without warm-up")
	version := flag.Bool("version", false, "print the version of the Go runtime")
	flag.Usage = func() {
		fmt.Println("Usage: go [--ops N] ROW VPS MS\nMeasures one row of the micro benchmarks for about MS " +
			"milliseconds and prints one line of JSON.")
	}
	flag.Parse()
	if *version {
		fmt.Println(runtime.Version())
		return
	}
	if flag.NArg() != 3 {
		usageError("ROW, VPS and MS are needed")
	}
	runtime.GOMAXPROCS(number(flag.Arg(1), 1024, "VPS"))
	ms := number(flag.Arg(2), 60000, "MS")

	r := run{Row: flag.Arg(0), Version: runtime.Version(), Ops: *ops}
	row, threads, offered := findRow(r.Row)
	r.threads = threads
	if offered {
		r.Offered = true
		r.Verified = row.measure(&r, ms)
	}
	check(json.NewEncoder(os.Stdout).Encode(r))
	if offered && !r.Verified {
		os.Exit(1)
	}
}
