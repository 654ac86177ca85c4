// The Go SDK as a client of the gateway: `gateway REVISION URL FOLDER`.
//
// Behind the URL are server-everything, server-filesystem (with the folder), server-memory and
// mcp-server-time, each under its own prefix. Runs every check of gateway/checks.txt, prints one JSON
// line for each, and exits with 0 if none failed.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type peer struct {
	session  *mcp.ClientSession
	folder   string
	elicited []string
	// The SDK calls back from goroutines of its own, also after the result is there.
	progress chan float64
}

type check struct {
	name string
	run  func(context.Context, *peer) (string, error)
}

func expect(found, wanted string) (string, error) {
	if !strings.Contains(found, wanted) {
		return "", fmt.Errorf("no %q in %.300q", wanted, found)
	}
	return wanted, nil
}

func (p *peer) call(ctx context.Context, name string, arguments map[string]any) (*mcp.CallToolResult, error) {
	params := &mcp.CallToolParams{Name: name, Arguments: arguments}
	params.SetProgressToken(name)
	result, err := p.session.CallTool(ctx, params)
	if err == nil && result.IsError {
		return nil, fmt.Errorf("the tool failed: %s", text(result))
	}
	return result, err
}

func text(result *mcp.CallToolResult) string {
	var all []string
	for _, part := range result.Content {
		if said, ok := part.(*mcp.TextContent); ok {
			all = append(all, said.Text)
		}
	}
	return strings.Join(all, "\n")
}

func says(tool string, arguments map[string]any, wanted string) func(context.Context, *peer) (string, error) {
	return func(ctx context.Context, p *peer) (string, error) {
		result, err := p.call(ctx, tool, arguments)
		if err != nil {
			return "", err
		}
		return expect(text(result), wanted)
	}
}

func tools(ctx context.Context, p *peer) (string, error) {
	var names []string
	for tool, err := range p.session.Tools(ctx, nil) {
		if err != nil {
			return "", err
		}
		names = append(names, tool.Name)
	}
	for _, wanted := range []string{"everything__echo", "files__read_text_file", "memory__create_entities", "time__convert_time"} {
		if !slices.Contains(names, wanted) {
			return "", fmt.Errorf("%s is missing in %v", wanted, names)
		}
	}
	return fmt.Sprintf("%d tools", len(names)), nil
}

func structured(ctx context.Context, p *peer) (string, error) {
	result, err := p.call(ctx, "everything__get-structured-content", map[string]any{"location": "New York"})
	if err != nil {
		return "", err
	}
	return expect(fmt.Sprint(result.StructuredContent), "temperature")
}

func progress(ctx context.Context, p *peer) (string, error) {
	_, err := p.call(ctx, "everything__trigger-long-running-operation", map[string]any{"duration": 1, "steps": 4})
	if err != nil {
		return "", err
	}
	var seen []float64
	for len(seen) < 4 {
		select {
		case done := <-p.progress:
			seen = append(seen, done)
		case <-time.After(5 * time.Second):
			return "", fmt.Errorf("progress: %v", seen)
		}
	}
	slices.Sort(seen)
	if !slices.Equal(seen, []float64{1, 2, 3, 4}) {
		return "", fmt.Errorf("progress: %v", seen)
	}
	return "4 reports", nil
}

func elicitation(ctx context.Context, p *peer) (string, error) {
	p.elicited = nil
	result, err := p.call(ctx, "everything__trigger-elicitation-request", nil)
	if err != nil {
		return "", err
	}
	if len(p.elicited) != 1 {
		return "", fmt.Errorf("asked %d times", len(p.elicited))
	}
	if _, err := expect(p.elicited[0], "everything"); err != nil {
		return "", err
	}
	return expect(strings.ToLower(text(result)), "decline")
}

func prompt(ctx context.Context, p *peer) (string, error) {
	params := &mcp.GetPromptParams{Name: "everything__args-prompt", Arguments: map[string]string{"city": "Bonn"}}
	result, err := p.session.GetPrompt(ctx, params)
	if err != nil {
		return "", err
	}
	said, _ := json.Marshal(result.Messages)
	return expect(string(said), "Bonn")
}

func read(uri, wanted string) func(context.Context, *peer) (string, error) {
	return func(ctx context.Context, p *peer) (string, error) {
		result, err := p.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
		if err != nil {
			return "", err
		}
		said, _ := json.Marshal(result.Contents)
		return expect(string(said), wanted)
	}
}

func link(ctx context.Context, p *peer) (string, error) {
	result, err := p.call(ctx, "everything__get-resource-links", map[string]any{"count": 1})
	if err != nil {
		return "", err
	}
	for _, part := range result.Content {
		if link, ok := part.(*mcp.ResourceLink); ok {
			return read(link.URI, link.URI)(ctx, p)
		}
	}
	return "", fmt.Errorf("no link")
}

func completion(ctx context.Context, p *peer) (string, error) {
	result, err := p.session.Complete(ctx, &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: "everything__completable-prompt"},
		Argument: mcp.CompleteParamsArgument{Name: "department", Value: "E"},
	})
	if err != nil {
		return "", err
	}
	return expect(strings.Join(result.Completion.Values, " "), "Engineering")
}

func files(ctx context.Context, p *peer) (string, error) {
	return says("files__read_text_file", map[string]any{"path": p.folder + "/hello.txt"}, "gateway")(ctx, p)
}

func memory(ctx context.Context, p *peer) (string, error) {
	entity := map[string]any{"name": "Bonn", "entityType": "city", "observations": []string{"on the Rhine"}}
	if _, err := p.call(ctx, "memory__create_entities", map[string]any{"entities": []any{entity}}); err != nil {
		return "", err
	}
	return says("memory__read_graph", nil, "on the Rhine")(ctx, p)
}

func unknown(ctx context.Context, p *peer) (string, error) {
	if _, err := p.session.CallTool(ctx, &mcp.CallToolParams{Name: "nobody__nothing"}); err != nil {
		return err.Error(), nil
	}
	return "", fmt.Errorf("answered")
}

var checks = []check{
	{"tools of all servers", tools},
	{"everything: call", says("everything__echo", map[string]any{"message": "hello"}, "Echo: hello")},
	{"everything: structured", structured},
	{"everything: progress", progress},
	{"everything: elicitation", elicitation},
	{"everything: prompt", prompt},
	{"everything: resource", read("everything+demo://resource/static/document/features.md", "everything+demo://")},
	{"everything: template", read("everything+demo://resource/dynamic/text/1", "Resource 1")},
	{"everything: link", link},
	{"everything: completion", completion},
	{"files: call", files},
	{"memory: call", memory},
	{"time: call", says("time__convert_time",
		map[string]any{"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}, "21:00")},
	{"unknown tool", unknown},
}

func report(name, status, detail string) {
	line, _ := json.Marshal(map[string]string{"check": name, "status": status, "detail": detail})
	fmt.Println(string(line))
}

func connect(ctx context.Context, revision, url string, p *peer) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "go-sdk", Version: "1.0.0"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, request *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			p.elicited = append(p.elicited, request.Params.Message)
			return &mcp.ElicitResult{Action: "decline"}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, request *mcp.ProgressNotificationClientRequest) {
			p.progress <- request.Params.Progress
		},
	})
	transport := &mcp.StreamableClientTransport{Endpoint: url}
	session, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	p.session = session
	return err
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: gateway REVISION URL FOLDER")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	p := &peer{folder: os.Args[3], progress: make(chan float64, 100)}
	if err := connect(ctx, os.Args[1], os.Args[2], p); err != nil {
		for _, check := range checks {
			report(check.name, "fail", "no connection: "+err.Error())
		}
		os.Exit(1)
	}
	failed := false
	for _, check := range checks {
		if detail, err := check.run(ctx, p); err != nil {
			failed = true
			report(check.name, "fail", err.Error())
		} else {
			report(check.name, "ok", detail)
		}
	}
	p.session.Close()
	if failed {
		os.Exit(1)
	}
}
