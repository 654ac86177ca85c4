//! Whose gateways are measured, and how each is started: in the way that its README says, with its log switched off.

use serde_json::json;
use std::path::{Path, PathBuf};

use Way::{HttpToStdio, StdioToHttp};

pub(super) const OURS: &str = "contexture";

/// From what to what.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Way {
    HttpToHttp,
    HttpToStdio,
    StdioToHttp,
}

impl Way {
    pub(super) const ALL: [Self; 3] = [Self::HttpToHttp, Self::HttpToStdio, Self::StdioToHttp];

    pub(super) fn key(self) -> &'static str {
        match self {
            Self::HttpToHttp => "http-http",
            Self::HttpToStdio => "http-stdio",
            Self::StdioToHttp => "stdio-http",
        }
    }
}

/// What is behind a gateway.
#[derive(Clone)]
pub(super) enum Target {
    Url(String),
    Command(Vec<String>),
}

/// Where things are.
pub(super) struct Place {
    pub(super) bench: PathBuf,
    /// For what is made on the way.
    pub(super) folder: PathBuf,
}

impl Place {
    pub(super) fn new(bench: &Path) -> Result<Self, String> {
        let folder = bench.join("target/gateway");
        std::fs::create_dir_all(&folder).map_err(|error| format!("bench/target/gateway: {error}"))?;
        Ok(Self { bench: bench.to_owned(), folder })
    }

    fn path(&self, path: &str) -> String {
        self.bench.join(path).to_string_lossy().into_owned()
    }

    /// The server that is behind everybody, with so many tools more than its own.
    pub(super) fn server(&self, mode: &[&str], more: usize) -> Vec<String> {
        let program = self.path("target/release/contexture-bench");
        let more = ["--tools".to_owned(), more.to_string()];
        std::iter::once(program).chain(mode.iter().map(|word| (*word).to_owned())).chain(more).collect()
    }

    /// The same over pipes, on the other core than the gateway.
    pub(super) fn pinned_server(&self, more: usize) -> Vec<String> {
        let taskset = ["taskset", "-c", "1"].map(str::to_owned);
        taskset.into_iter().chain(self.server(&["stdio"], more)).collect()
    }
}

/// Somebody's gateway.
pub(super) struct Gateway {
    pub(super) name: &'static str,
    pub(super) ways: &'static [Way],
    /// The revision's setting that it is called in beside the legacy one.
    modern: bool,
    pub(super) command: fn(&Place, Way, &Target) -> Result<Vec<String>, String>,
}

impl Gateway {
    /// The driver's settings for it; over stdio there is one.
    pub(super) fn settings(&self, way: Way) -> &'static [&'static str] {
        match (way, self.modern) {
            (Way::StdioToHttp, _) => &[""],
            (_, true) => &["sessions", "modern"],
            (_, false) => &["sessions"],
        }
    }
}

pub(super) const GATEWAYS: [Gateway; 6] = [
    Gateway { name: OURS, ways: &Way::ALL, modern: true, command: ours },
    Gateway { name: "contexture-bridge", ways: &Way::ALL, modern: true, command: bridge },
    Gateway { name: "fastmcp", ways: &Way::ALL, modern: false, command: fastmcp },
    Gateway { name: "mcp-proxy", ways: &[HttpToStdio, StdioToHttp], modern: false, command: mcp_proxy },
    Gateway { name: "supergateway", ways: &[HttpToStdio, StdioToHttp], modern: false, command: supergateway },
    Gateway { name: "mcp-remote", ways: &[StdioToHttp], modern: false, command: mcp_remote },
];

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn binary(place: &Place) -> String {
    place.path("../target/release/contexture")
}

/// `contexture run` with one server whose names are left alone, and everything allowed.
fn ours(place: &Place, way: Way, target: &Target) -> Result<Vec<String>, String> {
    let config = config(place, std::slice::from_ref(target))?;
    let mut command = words(&[&binary(place), "run", "--config", &config]);
    command.extend(words(if way == StdioToHttp { &["--stdio"] } else { &["--listen", "127.0.0.1:{port}"] }));
    Ok(command)
}

/// `contexture run` with all these servers; the first keeps its names.
pub(super) fn ours_with(place: &Place, targets: &[Target]) -> Result<Vec<String>, String> {
    Ok(words(&[&binary(place), "run", "--config", &config(place, targets)?, "--listen", "127.0.0.1:{port}"]))
}

fn config(place: &Place, targets: &[Target]) -> Result<String, String> {
    let entry = |(at, target): (usize, &Target)| {
        let mut entry = match target {
            Target::Url(url) => json!({ "url": url }),
            Target::Command(command) => json!({ "command": command[0], "args": command[1..] }),
        };
        entry["prefix"] = (at > 0).into();
        (format!("server-{at}"), entry)
    };
    let servers: serde_json::Map<_, _> = targets.iter().enumerate().map(entry).collect();
    let config = json!({ "servers": servers, "policy": { "default": "allow" } });
    let file = place.folder.join("contexture.json");
    std::fs::write(&file, config.to_string()).map_err(|error| format!("the configuration: {error}"))?;
    Ok(file.to_string_lossy().into_owned())
}

fn bridge(place: &Place, way: Way, target: &Target) -> Result<Vec<String>, String> {
    let mut command = words(&[&binary(place), "bridge"]);
    if let Target::Url(url) = target {
        command.push(url.clone());
    }
    if way != StdioToHttp {
        command.extend(words(&["--listen", "127.0.0.1:{port}"]));
    }
    if let Target::Command(server) = target {
        command.push("--".into());
        command.extend(server.iter().cloned());
    }
    Ok(command)
}

fn fastmcp(place: &Place, way: Way, target: &Target) -> Result<Vec<String>, String> {
    let target = match target {
        Target::Url(url) => url.clone(),
        Target::Command(command) => json!(command).to_string(),
    };
    let python = place.path("target/gateway/fastmcp/bin/python");
    let script = place.path("gateway/python/fastmcp_proxy.py");
    let mode: &[&str] = if way == StdioToHttp { &["stdio"] } else { &["http", "{port}"] };
    Ok(words(&[&[python.as_str(), &script], mode, &[&target]].concat()))
}

fn mcp_proxy(place: &Place, _: Way, target: &Target) -> Result<Vec<String>, String> {
    let program = place.path("target/gateway/mcp-proxy/bin/mcp-proxy");
    let mut command = words(&[&program, "--log-level", "ERROR"]);
    match target {
        Target::Url(url) => command.extend(words(&["--transport", "streamablehttp", url])),
        Target::Command(server) => {
            command.extend(words(&["--port", "{port}", "--"]));
            command.extend(server.iter().cloned());
        }
    }
    Ok(command)
}

fn node(place: &Place, script: &str) -> Vec<String> {
    let script = place.path(&format!("target/gateway/npm/node_modules/{script}"));
    words(&["env", "NODE_ENV=production", "node", &script])
}

fn supergateway(place: &Place, _: Way, target: &Target) -> Result<Vec<String>, String> {
    let mut command = node(place, "supergateway/dist/index.js");
    match target {
        Target::Url(url) => command.extend(words(&["--streamableHttp", url])),
        Target::Command(server) => {
            let stateful = ["--outputTransport", "streamableHttp", "--stateful", "--port", "{port}"];
            command.extend(words(&["--stdio", &server.join(" ")]));
            command.extend(words(&stateful));
        }
    }
    command.extend(words(&["--logLevel", "none"]));
    Ok(command)
}

fn mcp_remote(place: &Place, _: Way, target: &Target) -> Result<Vec<String>, String> {
    let Target::Url(url) = target else { return Err("mcp-remote reaches servers by URL".into()) };
    let mut command = node(place, "mcp-remote/dist/proxy.js");
    command.extend(words(&[url, "--transport", "http-only", "--silent"]));
    Ok(command)
}
