// Package agent: locks, elections and runs by `leasehold agent`, with the standard library alone.
//
//	held, err := agent.Lock(ctx, "/run/leasehold/agent", "invoices/closing", 10*time.Second)
//	if err != nil { return err }          // an agent.Busy if somebody else has the key
//	defer held.Release()
//	closeNext(ctx, held.Owner, held.Token) // prove each write by these
//	<-held.Lost()                // somebody else may have it: stop
//
// Each hold has a connection of its own, and ends with it: also when this process dies.
package agent

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Forever is a wait without an end; the context can end it.
const Forever = time.Duration(-1)

// Request and Answer are lines: see docs/locks-from-other-languages.md.
type Request map[string]any
type Answer struct {
	Answer, Error, Message, Event, Why string
	Key, Owner, Tick, Text             string
	Hold, Token                        int64
	Holder                             map[string]any
}

// Busy says who has the key, or that the tick has run, runs, or is closed.
type Busy struct{ Answer }

func (busy Busy) Error() string {
	return fmt.Sprint(busy.Answer.Answer, " ", busy.Holder["holder"])
}

// Held is a lock, an office or a run.
type Held struct {
	Answer
	socket  net.Conn
	answers chan Answer
	lost    chan struct{}
	asking  sync.Mutex
}

// Lock waits for a key; 0 asks once.
func Lock(ctx context.Context, path, key string, wait time.Duration) (*Held, error) {
	return Hold(ctx, path, Request{"do": "lock", "key": key, "wait": seconds(wait)})
}

// Elect waits until this program leads.
func Elect(ctx context.Context, path, key string, wait time.Duration) (*Held, error) {
	return Hold(ctx, path, Request{"do": "elect", "key": key, "wait": seconds(wait)})
}

// Once starts the current tick of a cron expression, as "30 2 * * *" in "Europe/Berlin".
func Once(ctx context.Context, path, key, cron, zone string) (*Held, error) {
	return Hold(ctx, path, Request{"do": "once", "key": key, "cron": cron, "zone": zone})
}

func seconds(wait time.Duration) any {
	if wait < 0 {
		return "forever"
	}
	return wait.Seconds()
}

// Hold sends a request that asks for a key.
func Hold(ctx context.Context, path string, request Request) (*Held, error) {
	socket, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	held := &Held{socket: socket, answers: make(chan Answer, 1), lost: make(chan struct{})}
	go held.read()
	held.Answer, err = held.Ask(ctx, request)
	if err == nil && held.Answer.Answer == "held" {
		return held, nil
	} else if err == nil {
		err = Busy{held.Answer}
	}
	socket.Close() // ends a wait, and gives back what was granted meanwhile
	return nil, err
}

// Reads also while nobody asks, so that a loss is noticed.
func (held *Held) read() {
	defer close(held.answers)
	var once sync.Once
	lose := func() { once.Do(func() { close(held.lost) }) }
	defer lose()
	lines := bufio.NewReader(held.socket)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var said Answer
		if err = json.Unmarshal(line, &said); err != nil {
			return
		} else if said.Event != "" {
			lose()
		} else {
			held.answers <- said
		}
	}
}

// Ask sends a request, as "verify". The end of ctx ends the connection, and with it the hold.
func (held *Held) Ask(ctx context.Context, request Request) (Answer, error) {
	held.asking.Lock()
	defer held.asking.Unlock()
	line, err := json.Marshal(request)
	if err == nil {
		_, err = held.socket.Write(append(line, '\n'))
	}
	if err != nil {
		return Answer{}, err
	}
	select {
	case said, isThere := <-held.answers:
		if !isThere {
			err = errors.New("the agent has closed the connection")
		} else if said.Error != "" {
			err = fmt.Errorf("%s: %s", said.Error, said.Message)
		}
		return said, err
	case <-ctx.Done():
		held.socket.Close() // a later answer would be taken for that of a later request
		return Answer{}, ctx.Err()
	}
}

// Lost is closed when somebody else may have the key.
func (held *Held) Lost() <-chan struct{} { return held.lost }

// Release gives back. Without an answer the end of the connection does.
func (held *Held) Release() error {
	within, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	defer held.socket.Close()
	_, err := held.Ask(within, Request{"do": "unlock", "hold": held.Hold})
	return err
}
