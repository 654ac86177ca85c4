// The tools that every program of the benchmark has, each as the SDK teaches it: `mcp.AddTool` with typed
// arguments, whose schema the SDK makes from the type and checks every call against.
package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type echoArguments struct {
	Message string `json:"message" jsonschema:"what to say back"`
}

type blobArguments struct {
	Size int `json:"size" jsonschema:"how many bytes"`
}

type lengthArguments struct {
	Text string `json:"text" jsonschema:"what to measure"`
}

type weatherArguments struct {
	City string `json:"city" jsonschema:"which city"`
}

type wind struct {
	Speed float64 `json:"speed"`
	From  string  `json:"from"`
}

type hour struct {
	Hour    int     `json:"hour"`
	Celsius float64 `json:"celsius"`
}

type weather struct {
	City    string  `json:"city"`
	Celsius float64 `json:"celsius"`
	Wind    wind    `json:"wind"`
	Hours   []hour  `json:"hours"`
}

type address struct {
	Street string `json:"street"`
	City   string `json:"city"`
	Zip    string `json:"zip"`
}

type customer struct {
	Name    string  `json:"name"`
	Address address `json:"address"`
}

type line struct {
	SKU      string  `json:"sku"`
	Quantity int     `json:"quantity"`
	Price    float64 `json:"price"`
}

type order struct {
	Customer customer `json:"customer"`
	Lines    []line   `json:"lines"`
}

type orderArguments struct {
	Order order  `json:"order"`
	Note  string `json:"note,omitempty"`
}

func text(said string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: said}}}
}

func echo(_ context.Context, _ *mcp.CallToolRequest, given echoArguments) (*mcp.CallToolResult, any, error) {
	return text(given.Message), nil, nil
}

func blob(_ context.Context, _ *mcp.CallToolRequest, given blobArguments) (*mcp.CallToolResult, any, error) {
	if given.Size < 0 {
		return nil, nil, fmt.Errorf("a text of %d bytes cannot be", given.Size)
	}
	return text(strings.Repeat("x", given.Size)), nil, nil
}

func length(_ context.Context, _ *mcp.CallToolRequest, given lengthArguments) (*mcp.CallToolResult, any, error) {
	return text(strconv.Itoa(len(given.Text))), nil, nil
}

const steps = 10

func walk(ctx context.Context, request *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
	if token := request.Params.GetProgressToken(); token != nil {
		for step := 1; step <= steps; step++ {
			report := &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(step), Total: steps}
			if err := request.Session.NotifyProgress(ctx, report); err != nil {
				return nil, nil, err
			}
		}
	}
	return text("done"), nil, nil
}

// Its result is structured: the SDK checks it against the schema of its type and adds the text.
func forecast(_ context.Context, _ *mcp.CallToolRequest, given weatherArguments) (*mcp.CallToolResult, weather, error) {
	hours := make([]hour, 24)
	for at := range hours {
		hours[at] = hour{Hour: at, Celsius: 20.5}
	}
	return nil, weather{City: given.City, Celsius: 21.5, Wind: wind{Speed: 3.5, From: "NW"}, Hours: hours}, nil
}

func takeOrder(context.Context, *mcp.CallToolRequest, orderArguments) (*mcp.CallToolResult, any, error) {
	return text("ordered"), nil, nil
}

func newServer(given options) *mcp.Server {
	var settings mcp.ServerOptions
	if given.tuned {
		settings.SchemaCache = mcp.NewSchemaCache()
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "go-sdk-bench", Version: "1.0.0"}, &settings)
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "Says the message back."}, echo)
	mcp.AddTool(server, &mcp.Tool{Name: "steps", Description: "Reports ten steps of progress."}, walk)
	mcp.AddTool(server, &mcp.Tool{Name: "blob", Description: "A text of so many bytes."}, blob)
	mcp.AddTool(server, &mcp.Tool{Name: "length", Description: "Counts the bytes of a text."}, length)
	mcp.AddTool(server, &mcp.Tool{Name: "weather", Description: "The weather of a city, by the hour."}, forecast)
	for number := range given.tools {
		mcp.AddTool(server, &mcp.Tool{
			Name:        fmt.Sprintf("tool_%d", number),
			Description: fmt.Sprintf("Takes an order at counter %d.", number),
		}, takeOrder)
	}
	return server
}
