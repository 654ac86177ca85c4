//! Clients that are command lines: one process for each check, judged by what it prints and how it ends.
//!
//! What takes a conversation (progress, questions) cannot be seen this way and is `absent`.

use serde_json::json;
use std::path::Path;
use std::process::{Command, Stdio};

/// A client by its command line.
pub struct Line {
    program: String,
    /// Before what is asked.
    head: Vec<String>,
    /// After it.
    tail: Vec<String>,
    words: fn(&Asked<'_>) -> Vec<String>,
}

/// What is asked of the gateway.
enum Asked<'a> {
    Tools,
    Call(&'a str, &'a [(&'a str, String)]),
    Read(&'a str),
    Prompt(&'a str, &'a str),
}

impl Line {
    /// The Inspector's `--cli`.
    pub fn inspector(node: &Path, package: &Path, url: &str) -> Self {
        let program = package.join("clients/launcher/build/index.js");
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Self {
            program: node.to_string_lossy().into_owned(),
            head: owned(&[&program.to_string_lossy(), "--cli", url, "--transport", "http"]),
            tail: Vec::new(),
            words: |asked| match asked {
                Asked::Tools => words(&["--method", "tools/list"]),
                Asked::Call(tool, arguments) => {
                    let mut all = words(&["--method", "tools/call", "--tool-name", tool]);
                    for (name, value) in *arguments {
                        all.extend(["--tool-arg".to_owned(), format!("{name}={value}")]);
                    }
                    all
                }
                Asked::Read(uri) => words(&["--method", "resources/read", "--uri", uri]),
                Asked::Prompt(name, argument) => {
                    words(&["--method", "prompts/get", "--prompt-name", name, "--prompt-args", argument])
                }
            },
        }
    }

    /// Our own verbs.
    pub fn ours(contexture: &str, url: &str) -> Self {
        Self {
            program: contexture.to_owned(),
            head: Vec::new(),
            tail: words(&["--", url]),
            words: |asked| match asked {
                Asked::Tools => words(&["tools", "list"]),
                Asked::Call(tool, arguments) => {
                    let mut all = words(&["call", tool]);
                    all.extend(arguments.iter().map(|(name, value)| format!("{name}={value}")));
                    all
                }
                Asked::Read(uri) => words(&["read", uri]),
                Asked::Prompt(name, argument) => words(&["prompt", name, argument]),
            },
        }
    }

    /// What it prints, or how it failed.
    fn ask(&self, asked: &Asked<'_>) -> Result<String, String> {
        let mut command = Command::new(&self.program);
        command.args(&self.head).args((self.words)(asked)).args(&self.tail).stdin(Stdio::null());
        let output = command.output().map_err(|error| format!("could not be started: {error}"))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match output.status.success() {
            true => Ok(text(&output.stdout)),
            false => Err(format!("{}: {}{}", output.status, text(&output.stderr), text(&output.stdout))),
        }
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// One line for each check, as the programs on SDKs print them.
pub fn report(checks: &[&str], line: &Line, folder: &str) -> String {
    let row = |check: &&str| {
        let (status, detail) = match outcome(check, line, folder) {
            None => ("absent", "a command line holds no conversation".to_owned()),
            Some(Ok(detail)) => ("ok", detail),
            Some(Err(what)) => ("fail", what.chars().take(400).collect()),
        };
        format!("{}\n", json!({ "check": check, "status": status, "detail": detail }))
    };
    checks.iter().map(row).collect()
}

fn outcome(check: &str, line: &Line, folder: &str) -> Option<Result<String, String>> {
    let call = |tool: &str, arguments: &[(&str, &str)], wanted: &[&str]| {
        let arguments: Vec<_> = arguments.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        expect(line.ask(&Asked::Call(tool, &arguments)), wanted)
    };
    Some(match check {
        "tools of all servers" => expect(
            line.ask(&Asked::Tools),
            &["everything__echo", "files__read_text_file", "memory__create_entities", "time__convert_time"],
        ),
        "everything: call" => call("everything__echo", &[("message", "hello")], &["Echo: hello"]),
        "everything: structured" => {
            call("everything__get-structured-content", &[("location", "New York")], &["temperature"])
        }
        "everything: prompt" => {
            expect(line.ask(&Asked::Prompt("everything__args-prompt", "city=Bonn")), &["Bonn"])
        }
        "everything: resource" => {
            let uri = "everything+demo://resource/static/document/features.md";
            expect(line.ask(&Asked::Read(uri)), &["Everything"])
        }
        "everything: template" => {
            expect(line.ask(&Asked::Read("everything+demo://resource/dynamic/text/1")), &["Resource 1"])
        }
        "files: call" => {
            let path = format!("{folder}/hello.txt");
            call("files__read_text_file", &[("path", &path)], &["read through the gateway"])
        }
        "memory: call" => call("memory__read_graph", &[], &["on the Rhine"]),
        "time: call" => call(
            "time__convert_time",
            &[("source_timezone", "UTC"), ("time", "12:00"), ("target_timezone", "Asia/Tokyo")],
            &["21:00"],
        ),
        "unknown tool" => match call("nobody__nothing", &[], &[]) {
            Ok(said) => Err(format!("answered: {said}")),
            Err(_) => Ok("refused".to_owned()),
        },
        _ => return None,
    })
}

fn expect(said: Result<String, String>, wanted: &[&str]) -> Result<String, String> {
    let said = said?;
    match wanted.iter().find(|wanted| !said.contains(**wanted)) {
        Some(missing) => Err(format!("no {missing:?} in {said}")),
        None => Ok(String::new()),
    }
}
