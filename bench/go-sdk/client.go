// The client: one session, so many calls of `echo` in flight, every answer checked. It prints `begin` and `end`
// for whoever measures it from outside, and stays until its stdin ends so that it can be measured.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const warmUp = 1000

var message = strings.Repeat("x", 64)

func transport(kind, target string, window int, tuned bool) (mcp.Transport, error) {
	switch kind {
	case "stdio":
		command := exec.Command(target, "stdio")
		command.Stderr = os.Stderr
		return &mcp.CommandTransport{Command: command}, nil
	case "http":
		reached := &mcp.StreamableClientTransport{Endpoint: target}
		if tuned {
			pool := &http.Transport{MaxIdleConns: 2 * window, MaxIdleConnsPerHost: 2 * window}
			reached.HTTPClient = &http.Client{Transport: pool}
		}
		return reached, nil
	default:
		return nil, fmt.Errorf("%q is neither stdio nor http", kind)
	}
}

// Connects in exactly this revision: the SDK would settle for an older one.
func connect(ctx context.Context, era string, over mcp.Transport) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "go-sdk-bench", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, over, &mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		return nil, fmt.Errorf("cannot connect: %w", err)
	}
	if agreed := session.InitializeResult().ProtocolVersion; agreed != era {
		return nil, errors.Join(fmt.Errorf("the server speaks %s, not %s", agreed, era), session.Close())
	}
	return session, nil
}

func call(ctx context.Context, session *mcp.ClientSession) error {
	params := &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"message": message}}
	result, err := session.CallTool(ctx, params)
	if err != nil {
		return err
	}
	if len(result.Content) == 1 {
		if said, ok := result.Content[0].(*mcp.TextContent); ok && said.Text == message {
			return nil
		}
	}
	return fmt.Errorf("wrong answer: %+v", result)
}

// Makes the calls with `window` callers and returns how long each call took.
func load(ctx context.Context, session *mcp.ClientSession, calls, window int) ([]time.Duration, error) {
	took := make([]time.Duration, calls)
	failed := make([]error, window)
	var next atomic.Int64
	var callers sync.WaitGroup
	for caller := range window {
		callers.Go(func() {
			for at := next.Add(1) - 1; at < int64(calls); at = next.Add(1) - 1 {
				begun := time.Now()
				if err := call(ctx, session); err != nil {
					failed[caller] = err
					return
				}
				took[at] = time.Since(begun)
			}
		})
	}
	callers.Wait()
	return took, errors.Join(failed...)
}

func measure(ctx context.Context, session *mcp.ClientSession, calls, window int) error {
	if _, err := load(ctx, session, warmUp, window); err != nil {
		return err
	}
	fmt.Println("begin")
	begun := time.Now()
	took, err := load(ctx, session, calls, window)
	if err != nil {
		return err
	}
	elapsed := time.Since(begun)
	slices.Sort(took)
	fmt.Printf("end {\"calls\":%d,\"elapsed_s\":%.6f,\"p50_us\":%.1f,\"p99_us\":%.1f}\n", calls,
		elapsed.Seconds(), micros(took[calls/2]), micros(took[calls*99/100]))
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func micros(d time.Duration) float64 {
	return float64(d.Nanoseconds()) / 1e3
}

// words: ERA, stdio or http, TARGET, CALLS, WINDOW.
func runClient(ctx context.Context, words []string, tuned bool) error {
	calls, notCalls := strconv.Atoi(words[3])
	window, notWindow := strconv.Atoi(words[4])
	if notCalls != nil || notWindow != nil || calls < 1 || window < 1 {
		return fmt.Errorf("CALLS and WINDOW are numbers from 1 on, not %q and %q", words[3], words[4])
	}
	over, err := transport(words[1], words[2], window, tuned)
	if err != nil {
		return err
	}
	session, err := connect(ctx, words[0], over)
	if err != nil {
		return err
	}
	return errors.Join(measure(ctx, session, calls, window), session.Close())
}
