//! Who is measured: programs, their configurations, and how each is started. Data; it starts nothing.

use std::path::{Path, PathBuf};

/// What a program is in the comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Ours,
    /// What no server or client on this stack can do better.
    Limit,
    /// A peer in Rust as its documentation teaches it.
    Taught,
    /// A peer in Rust in the fastest configuration that we found.
    Tuned,
    /// A peer in another language, in its fastest documented configuration.
    Foreign,
}

impl Role {
    /// Whether it is somebody else's library, not the limit and not ours.
    pub(super) fn is_peer(self) -> bool {
        matches!(self, Self::Taught | Self::Tuned | Self::Foreign)
    }
}

/// What a program is written in, which decides how it is built and started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Language {
    Rust,
    Go,
    Node,
    Python,
}

/// One program in one configuration.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) name: &'static str,
    pub(super) role: Role,
    pub(super) language: Language,
    /// The package to build and the folder that it is in.
    pub(super) package: &'static str,
    /// The name of its binary; of a script for the languages that have those.
    binary: &'static str,
    flags: &'static [&'static str],
    /// The transports that it speaks, and whether it is measured as a client of them too.
    pub(super) stdio: bool,
    pub(super) http: bool,
    pub(super) client: bool,
    /// Whether it is started without sessions for the modern era: some answer in JSON only then. The others
    /// are what they are by default, with sessions for whoever else comes.
    modern_stateless: bool,
    /// Whether it has to be told to answer in streams: some drop progress where they answer in JSON.
    told_to_stream: bool,
}

/// How an HTTP server is started.
#[derive(Clone, Copy)]
pub(super) struct Start<'a> {
    pub(super) profile: &'a str,
    pub(super) setting: &'a str,
    /// Tools beside those of the benchmark.
    pub(super) tools: usize,
    /// Whether calls are to be answered in streams.
    pub(super) streams: bool,
}

pub(super) const OURS: &str = "contexture";
pub(super) const BARE_HTTP: &str = "bare-hyper";
pub(super) const BARE_STDIO: &str = "bare-loop";

const fn peer(name: &'static str, role: Role, package: &'static str, binary: &'static str) -> Peer {
    Peer {
        name,
        role,
        language: Language::Rust,
        package,
        binary,
        flags: &[],
        stdio: true,
        http: true,
        client: true,
        modern_stateless: false,
        told_to_stream: false,
    }
}

const fn tuned(peer: Peer) -> Peer {
    Peer { flags: &["--tuned"], ..peer }
}

const fn foreign(language: Language, peer: Peer) -> Peer {
    Peer { language, told_to_stream: true, ..tuned(peer) }
}

/// In the order of the tables. Neighbours share a package, which is built once.
pub(super) const PEERS: [Peer; 11] = [
    peer(OURS, Role::Ours, "contexture-bench", "contexture-bench"),
    Peer { stdio: false, ..peer(BARE_HTTP, Role::Limit, "bare-hyper", "bare-hyper") },
    Peer { http: false, ..peer(BARE_STDIO, Role::Limit, "bare-loop", "bare-loop") },
    Peer { modern_stateless: true, ..tuned(peer("rmcp-tuned", Role::Tuned, "rmcp-bench", "rmcp-bench")) },
    Peer { modern_stateless: true, ..peer("rmcp", Role::Taught, "rmcp-bench", "rmcp-bench") },
    tuned(peer("tower-mcp-tuned", Role::Tuned, "tower-mcp-bench", "tower-mcp-bench")),
    peer("tower-mcp", Role::Taught, "tower-mcp-bench", "tower-mcp-bench"),
    Peer {
        flags: &["--sync"],
        http: false,
        client: false,
        ..peer("tower-mcp-sync", Role::Tuned, "tower-mcp-bench", "tower-mcp-bench")
    },
    Peer {
        modern_stateless: true,
        ..foreign(Language::Go, peer("go-sdk", Role::Foreign, "go-sdk", "go-sdk"))
    },
    foreign(Language::Node, peer("typescript-sdk", Role::Foreign, "typescript-sdk", "main.mjs")),
    foreign(Language::Python, peer("python-sdk", Role::Foreign, "python-sdk", "main.py")),
];

/// The program of that name.
pub(super) fn named(name: &str) -> Option<&'static Peer> {
    PEERS.iter().find(|peer| peer.name == name)
}

/// The role of a program that may be of an earlier run.
pub(super) fn role(name: &str) -> Option<Role> {
    named(name).map(|peer| peer.role)
}

impl Peer {
    /// The program and the words before its mode.
    fn program(&self, bench: &Path, profile: &str) -> Vec<String> {
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let target = bench.join("target");
        match self.language {
            Language::Rust => vec![text(target.join(profile).join(self.binary))],
            Language::Go => vec![text(target.join("go-sdk/go-sdk"))],
            Language::Node => {
                let script = text(target.join("typescript-sdk").join(self.binary));
                ["env", "NODE_ENV=production", "node", &script].map(str::to_owned).to_vec()
            }
            Language::Python => {
                let python = text(target.join("python-sdk/bin/python"));
                vec![python, text(bench.join("python-sdk").join(self.binary))]
            }
        }
    }

    /// As a stdio server.
    pub(super) fn stdio_command(&self, bench: &Path) -> Vec<String> {
        let mut command = self.program(bench, "release");
        command.push("stdio".into());
        command.extend(self.flags.iter().map(|flag| (*flag).to_owned()));
        command
    }

    /// As an HTTP server; the driver puts the port in.
    pub(super) fn http_command(&self, bench: &Path, start: Start<'_>) -> Vec<String> {
        let mut command = self.program(bench, start.profile);
        command.extend(["http", "{port}"].map(str::to_owned));
        if start.setting == "stateless" || (start.setting == "modern" && self.modern_stateless) {
            command.push("--stateless".into());
        }
        command.extend(self.flags.iter().map(|flag| (*flag).to_owned()));
        if start.streams && self.told_to_stream {
            command.push("--sse".into());
        }
        if start.tools > 0 {
            command.extend(["--tools".to_owned(), start.tools.to_string()]);
        }
        command
    }

    /// As a client; the driver adds the rest.
    pub(super) fn client_command(&self, bench: &Path) -> Vec<String> {
        self.program(bench, "release")
    }

    /// About how many seconds it takes before it is of use.
    pub(super) fn start_cost(&self) -> f64 {
        match self.language {
            Language::Rust | Language::Go => 0.1,
            Language::Node | Language::Python => 1.0,
        }
    }

    /// Whether its client is to be told to be at its fastest.
    pub(super) fn client_is_tuned(&self) -> bool {
        self.flags.contains(&"--tuned")
    }
}
