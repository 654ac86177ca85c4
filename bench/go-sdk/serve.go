// The two ways to serve: a pipe, and Streamable HTTP at /mcp on the loopback address.
package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The SDK's bound is 4 MiB. It stays on, but the largest message of the benchmark is a little over that.
const largestBody = 16 << 20

func serveStdio(ctx context.Context, given options) error {
	return newServer(given).Run(ctx, &mcp.StdioTransport{})
}

func serveHTTP(port uint64, given options) error {
	server := newServer(given)
	handler := mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{
			Stateless:           given.stateless,
			JSONResponse:        (given.tuned || given.stateless) && !given.sse,
			MaxRequestBodyBytes: largestBody,
		},
	)
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	return http.ListenAndServe(fmt.Sprintf("127.0.0.1:%d", port), mux)
}
