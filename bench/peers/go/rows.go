// SPDX-License-Identifier: Apache-2.0

package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// team runs body on size goroutines at once, r.Ops operations in all; the clock runs from
// the moment the last one is up to the moment the last one is done.
func (r *run) team(size uint64, body func(me int, rounds uint64)) {
	rounds := (r.Ops + size - 1) / size
	r.Ops = rounds * size
	var up, done atomic.Uint64
	var gate, all sync.WaitGroup
	gate.Add(1)
	all.Add(int(size))
	for me := 0; me < int(size); me++ {
		go func(me int) {
			if up.Add(1) == size {
				r.clockStart()
				gate.Done()
			}
			gate.Wait()
			body(me, rounds)
			if done.Add(1) == size {
				r.clockStop()
			}
			all.Done()
		}(me)
	}
	all.Wait()
}

func yieldRow(r *run) bool {
	r.team(r.threads, func(_ int, rounds uint64) {
		for i := uint64(0); i < rounds; i++ {
			runtime.Gosched()
		}
	})
	return true
}

const createBatch = 256

var createNumber uint32

func createRow(r *run) bool {
	var slots [createBatch]uint32
	batches := (r.Ops + createBatch - 1) / createBatch
	r.Ops = batches * createBatch
	r.clockStart()
	for i := uint64(0); i < batches; i++ {
		createNumber++
		for slot := range slots {
			go func(slot *uint32) { atomic.StoreUint32(slot, createNumber) }(&slots[slot])
		}
		for slot := range slots {
			for atomic.LoadUint32(&slots[slot]) != createNumber {
				runtime.Gosched()
			}
		}
	}
	r.clockStop()
	return true
}

func forkJoinRow(r *run) bool {
	var count uint64
	var join sync.WaitGroup
	r.clockStart()
	for i := uint64(0); i < r.Ops; i++ {
		join.Add(1)
		go func() {
			count++
			join.Done()
		}()
		join.Wait()
	}
	r.clockStop()
	return count == r.Ops
}

func fib(n int) int {
	if n < 2 {
		return n
	}
	var forked int
	var join sync.WaitGroup
	join.Add(1)
	go func() {
		forked = fib(n - 1)
		join.Done()
	}()
	rest := fib(n - 2)
	join.Wait()
	return forked + rest
}

func fibRow(r *run) bool {
	const value, threads = 75025, 121392
	trees := (r.Ops + threads - 1) / threads
	verified := true
	r.Ops = trees * threads
	r.clockStart()
	for i := uint64(0); i < trees; i++ {
		verified = verified && fib(25) == value
	}
	r.clockStop()
	return verified
}

func mutexRow(r *run) bool {
	var lock sync.Mutex
	var count uint64
	r.team(r.threads, func(_ int, rounds uint64) {
		for i := uint64(0); i < rounds; i++ {
			lock.Lock()
			count++
			lock.Unlock()
		}
	})
	return count == r.Ops
}

// semRow hands a ball to and fro; a channel with one place is Go's semaphore.
func semRow(r *run) bool {
	var balls = [2]chan struct{}{make(chan struct{}, 1), make(chan struct{}, 1)}
	balls[0] <- struct{}{}
	trips, turn := r.Ops, uint64(0)
	r.Ops *= 2
	r.team(2, func(me int, rounds uint64) {
		for i := uint64(0); i < rounds; i++ {
			<-balls[me]
			turn++
			balls[1-me] <- struct{}{}
		}
	})
	r.Ops = trips
	return turn == 2*trips
}

// acrossRow has a first member that never gives up its kernel thread, so that the other one,
// which blocks, is woken on another.
func acrossRow(r *run) bool {
	var balls = [2]chan struct{}{make(chan struct{}, 1), make(chan struct{}, 1)}
	trips, turn := r.Ops, uint64(0)
	r.Ops *= 2
	r.team(2, func(me int, rounds uint64) {
		for i := uint64(0); i < rounds; i++ {
			if me == 0 {
				balls[1] <- struct{}{}
				for waiting := true; waiting; {
					select {
					case <-balls[0]:
						waiting = false
					default:
					}
				}
				turn++
			} else {
				<-balls[1]
				turn++
				balls[0] <- struct{}{}
			}
		}
	})
	r.Ops = trips
	return turn == 2*trips
}

func condRow(r *run) bool {
	var lock sync.Mutex
	cond := sync.NewCond(&lock)
	trips, turn := r.Ops, uint64(0)
	r.Ops *= 2
	r.team(2, func(me int, rounds uint64) {
		for i := uint64(0); i < rounds; i++ {
			lock.Lock()
			for turn%2 != uint64(me) {
				cond.Wait()
			}
			turn++
			cond.Signal()
			lock.Unlock()
		}
	})
	r.Ops = trips
	return turn == 2*trips
}

// barrier is what a user of Go writes: the standard library has none.
type barrier struct {
	lock    sync.Mutex
	cond    *sync.Cond
	count   uint64
	missing uint64
	episode uint64
}

func newBarrier(count uint64) *barrier {
	b := &barrier{count: count, missing: count}
	b.cond = sync.NewCond(&b.lock)
	return b
}

func (b *barrier) wait() {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.missing--
	if b.missing == 0 {
		b.missing = b.count
		b.episode++
		b.cond.Broadcast()
		return
	}
	for episode := b.episode; b.episode == episode; {
		b.cond.Wait()
	}
}

func barrierRow(r *run) bool {
	size := r.threads
	b := newBarrier(size)
	var wrong atomic.Bool
	episodes := make([]uint64, size)
	r.team(size, func(me int, rounds uint64) {
		neighbour := &episodes[(me+1)%int(size)]
		for i := uint64(0); i < rounds; i++ {
			atomic.StoreUint64(&episodes[me], i)
			b.wait()
			if seen := atomic.LoadUint64(neighbour); seen != i && seen != i+1 {
				wrong.Store(true)
			}
		}
	})
	return !wrong.Load()
}

func memoryRow(r *run) bool {
	var here atomic.Uint64
	var all sync.WaitGroup
	gate := newBarrier(r.Ops + 1)
	rss, pte := memoryNow()
	r.clockStart()
	for i := uint64(0); i < r.Ops; i++ {
		all.Add(1)
		go func() {
			here.Add(1)
			gate.wait()
			all.Done()
		}()
	}
	for here.Load() < r.Ops {
		runtime.Gosched()
	}
	r.clockStop()
	r.RSSBytes, r.PTEBytes = memoryNow()
	r.RSSBytes -= rss
	r.PTEBytes -= pte
	gate.wait()
	all.Wait()
	return true
}

func sleepRow(r *run) bool {
	r.clockStart()
	for i := uint64(0); i < r.Ops; i++ {
		time.Sleep(time.Millisecond)
	}
	r.clockStop()
	return r.WallNs >= r.Ops*1000000
}

var rows = map[string]row{
	"yield":     {yieldRow, 1000, 0, 2},
	"create":    {createRow, createBatch, 0, 0},
	"fork-join": {forkJoinRow, 100, 0, 0},
	"fib":       {fibRow, 1, 0, 0},
	"mutex":     {mutexRow, 1000, 0, 1},
	"sem":       {semRow, 100, 0, 0},
	"across":    {acrossRow, 10, 0, 0},
	"cond":      {condRow, 100, 0, 0},
	"barrier":   {barrierRow, 64, 0, 64},
	"memory":    {memoryRow, 0, 100000, 0},
	"sleep":     {sleepRow, 10, 0, 0},
}
