// A server on the Go SDK, over stdio, for the stories of the command line: a little of everything.
//
// It offers a part of the contract in interop/README.md. Refuses to listen anywhere.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type message struct {
	Message string `json:"message" jsonschema:"What to say back."`
}

type numbers struct {
	A int `json:"a" jsonschema:"One number."`
	B int `json:"b" jsonschema:"The other."`
}

type sum struct {
	Result int `json:"result"`
}

func echo(_ context.Context, _ *mcp.CallToolRequest, in message) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Message}}}, nil, nil
}

func add(_ context.Context, _ *mcp.CallToolRequest, in numbers) (*mcp.CallToolResult, sum, error) {
	return nil, sum{in.A + in.B}, nil
}

func readme(_ context.Context, request *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	contents := &mcp.ResourceContents{URI: request.Params.URI, MIMEType: "text/markdown", Text: "# Go\n\nA readme of Go."}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{contents}}, nil
}

func greeting(_ context.Context, request *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	text := fmt.Sprintf("Greet %s.", request.Params.Arguments["name"])
	said := &mcp.PromptMessage{Role: "user", Content: &mcp.TextContent{Text: text}}
	return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{said}}, nil
}

func complete(_ context.Context, request *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	values := []string{}
	for _, style := range []string{"formal", "friendly", "pirate"} {
		if strings.HasPrefix(style, request.Params.Argument.Value) {
			values = append(values, style)
		}
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values, Total: len(values)}}, nil
}

func main() {
	quiet := func(context.Context, *mcp.SubscribeRequest) error { return nil }
	settings := &mcp.ServerOptions{
		Instructions:       "Say something to echo.",
		CompletionHandler:  complete,
		SubscribeHandler:   quiet,
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "go-interop", Version: "1.0.0"}, settings)
	looks := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "Says back what it is told.", Annotations: looks}, echo)
	mcp.AddTool(server, &mcp.Tool{Name: "add", Description: "Adds two whole numbers.", Annotations: looks}, add)
	server.AddResource(&mcp.Resource{URI: "demo://readme", Name: "readme", MIMEType: "text/markdown"}, readme)
	server.AddPrompt(&mcp.Prompt{
		Name:        "greeting",
		Description: "Greets somebody.",
		Arguments:   []*mcp.PromptArgument{{Name: "name", Required: true}, {Name: "style"}},
	}, greeting)
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, "go-interop:", err)
		os.Exit(1)
	}
}
