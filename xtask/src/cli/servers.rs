//! The servers that the stories are about, and what they are known to have.

use std::path::Path;

/// As the specification has it.
const REFUSED: (i32, &str) = (1, "usage");
/// The TypeScript SDK says it to the model, as the failure of a tool.
const FAILED: (i32, &str) = (5, "tool_error");

/// A server, and words of ours and answers of its own.
#[derive(Clone)]
pub struct Server {
    /// As it is called in the configuration.
    pub name: &'static str,
    /// For people.
    pub title: &'static str,
    /// How it is started, as a shell reads it.
    pub line: String,
    /// A call, its answer, and the same call with an argument that does not fit.
    pub call: [&'static str; 3],
    /// What comes of calling a tool that it does not have: the exit code, and its kind.
    pub unknown: (i32, &'static str),
    /// A resource and what is in it.
    pub resource: Option<[&'static str; 2]>,
    /// A prompt with its arguments, and what comes of it.
    pub prompt: Option<[&'static str; 2]>,
    /// An argument as far as it is typed, and what it could be.
    pub completion: Option<[&'static str; 2]>,
    /// A resource that can be followed.
    pub followed: Option<&'static str>,
    /// Whether it reports.
    pub logs: bool,
}

/// All of them; that on the Go SDK where it could be built.
pub fn all(root: &Path, node: &Path, go: Option<&Path>) -> Vec<Server> {
    let node_server = |name: &str| {
        let program = root.join("interop/gateway/node_modules/@modelcontextprotocol").join(name);
        format!("{} {}", node.display(), program.join("dist/index.js").display())
    };
    let python = |path: &str| root.join("interop/python").join(path).display().to_string();
    let demo = Server {
        name: "mine",
        title: "the demo",
        line: "contexture demo".to_owned(),
        call: ["echo message=hello", "hello", "echo message:=3"],
        unknown: REFUSED,
        resource: Some(["demo://readme", "Tools that answer"]),
        prompt: Some(["greeting name=Ada", "Ada"]),
        completion: Some(["greeting style=fr", "friendly"]),
        followed: Some("demo://clock"),
        logs: true,
    };
    let mut servers = vec![
        demo.clone(),
        Server {
            name: "everything",
            title: "server-everything 2026.8.31",
            line: node_server("server-everything"),
            call: ["echo message=hello", "Echo: hello", "get-sum a=one b=2"],
            unknown: FAILED,
            resource: Some(["demo://resource/static/document/features.md", "Features"]),
            prompt: Some(["args-prompt city=Lisbon", "Lisbon"]),
            completion: Some(["completable-prompt department=Eng", "Engineering"]),
            followed: Some("demo://resource/static/document/features.md"),
            logs: true,
        },
        Server {
            name: "files",
            title: "server-filesystem 2026.8.31",
            line: format!("{} \"$HOME/files\"", node_server("server-filesystem")),
            call: ["read_text_file path=hello.txt", "read from a file", "read_text_file path:=3"],
            unknown: FAILED,
            resource: None,
            prompt: None,
            completion: None,
            followed: None,
            logs: false,
        },
        Server {
            name: "python",
            title: "a server on the Python SDK 2.3.0",
            line: format!("{} {}", python(".venv-2/bin/python"), python("server.py")),
            resource: Some(["demo://readme", "interoperability server"]),
            ..demo.clone()
        },
    ];
    servers.extend(go.map(|program| Server {
        name: "golang",
        title: "a server on the Go SDK 1.8.0",
        line: program.display().to_string(),
        resource: Some(["demo://readme", "A readme of Go"]),
        followed: Some("demo://readme"),
        ..demo
    }));
    servers
}
