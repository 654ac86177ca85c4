// The benchmark's program on the Go SDK (github.com/modelcontextprotocol/go-sdk).
//
//	go-sdk-bench stdio [--tuned] [--tools N]
//	go-sdk-bench http PORT [--stateless] [--sse] [--tuned] [--tools N]
//	go-sdk-bench client ERA stdio|http TARGET CALLS WINDOW [--tuned]
//
// What the SDK's documentation says about speed, and what is set here:
//
//   - One Server for all sessions and requests, which is how the documentation hands it to
//     NewStreamableHTTPHandler. Always so.
//   - ServerOptions.SchemaCache, meant for those who make a Server for each request. Here with --tuned: the many tools
//     of --tools have one type, so the program starts sooner. Calls do not get faster by it.
//   - StreamableHTTPOptions.JSONResponse, "simpler", and what the SDK's own benchmark sets. Here with --tuned
//     and with --stateless. A server that answers with JSON cannot send progress with the answer, so --sse
//     takes it back.
//   - StreamableHTTPOptions.Stateless with --stateless. The SDK speaks 2026-07-28 over HTTP in no other mode.
//   - GOMAXPROCS, the garbage collector and net/http's server are as Go has them; over stdio there is nothing else to set.
//   - The client as documented keeps net/http's default of two idle connections; --tuned keeps one for each call
//     in flight.
//
// Refuses to listen on anything but the loopback address, and to switch off any guard of the SDK.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
)

const usage = `usage: go-sdk-bench stdio [--tuned] [--tools N]
       go-sdk-bench http PORT [--stateless] [--sse] [--tuned] [--tools N]
       go-sdk-bench client ERA stdio|http TARGET CALLS WINDOW [--tuned]`

// The command line after the word that says what to be.
type options struct {
	words     []string
	stateless bool
	sse       bool
	tuned     bool
	tools     int
}

// Go's flag package stops at the first word that is no flag; ours come after the words.
func parse(arguments []string) (options, error) {
	var given options
	flags := flag.NewFlagSet("go-sdk-bench", flag.ContinueOnError)
	flags.BoolVar(&given.stateless, "stateless", false, "no sessions")
	flags.BoolVar(&given.sse, "sse", false, "answer with event streams, never with JSON")
	flags.BoolVar(&given.tuned, "tuned", false, "the fastest documented configuration")
	flags.IntVar(&given.tools, "tools", 0, "how many tools besides")
	for len(arguments) > 0 && !strings.HasPrefix(arguments[0], "-") {
		given.words = append(given.words, arguments[0])
		arguments = arguments[1:]
	}
	if err := flags.Parse(arguments); err != nil {
		return given, err
	}
	if flags.NArg() > 0 {
		return given, fmt.Errorf("%q comes after the options", flags.Arg(0))
	}
	return given, nil
}

func run(ctx context.Context, arguments []string) error {
	given, err := parse(arguments)
	if err != nil {
		return err
	}
	switch words := given.words; {
	case len(words) == 1 && words[0] == "stdio":
		return serveStdio(ctx, given)
	case len(words) == 2 && words[0] == "http":
		port, err := strconv.ParseUint(words[1], 10, 16)
		if err != nil {
			return fmt.Errorf("%q is no port", words[1])
		}
		return serveHTTP(port, given)
	case len(words) == 6 && words[0] == "client":
		return runClient(ctx, words[1:], given.tuned)
	default:
		return fmt.Errorf("%s", usage)
	}
}

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "go-sdk-bench:", err)
		os.Exit(1)
	}
}
