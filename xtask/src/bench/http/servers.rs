//! Who is measured, and in which settings. Data; it starts nothing.

/// What a server is in the comparison.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Role {
    Ours,
    /// What no server on this stack can do better.
    Limit,
    /// A peer as its documentation teaches it.
    Taught,
    /// A peer in the fastest configuration that we found.
    Tuned,
}

impl Role {
    pub(super) fn is_peer(self) -> bool {
        matches!(self, Self::Taught | Self::Tuned)
    }
}

/// One program with one configuration.
pub(super) struct Server {
    pub(super) name: &'static str,
    pub(super) package: &'static str,
    pub(super) role: Role,
}

/// Ours, and what everything is compared with.
pub(super) const OURS: &str = "contexture";
pub(super) const BARE: &str = "bare-hyper";

/// Neighbours share a package, which is built once.
pub(super) const SERVERS: [Server; 6] = [
    Server { name: OURS, package: "contexture-http", role: Role::Ours },
    Server { name: BARE, package: "bare-hyper", role: Role::Limit },
    Server { name: "rmcp-tuned", package: "rmcp-http", role: Role::Tuned },
    Server { name: "rmcp-taught", package: "rmcp-http", role: Role::Taught },
    Server { name: "tower-mcp-tuned", package: "tower-mcp-http", role: Role::Tuned },
    Server { name: "tower-mcp-taught", package: "tower-mcp-http", role: Role::Taught },
];

/// A revision, and how the legacy era is spoken.
pub(super) struct Setting {
    pub(super) key: &'static str,
    pub(super) title: &'static str,
    era: &'static str,
    /// What the servers are told: with sessions or without.
    mode: &'static str,
    handshake: bool,
}

/// With sessions comes first: idle sessions are counted in that setting.
pub(super) const SETTINGS: [Setting; 3] = [
    Setting {
        key: "sessions",
        title: "2025-06-18 with a session",
        era: "2025-06-18",
        mode: "session",
        handshake: true,
    },
    Setting {
        key: "stateless",
        title: "2025-06-18 without sessions",
        era: "2025-06-18",
        mode: "stateless",
        handshake: false,
    },
    Setting { key: "modern", title: "2026-07-28", era: "2026-07-28", mode: "stateless", handshake: false },
];

impl Setting {
    pub(super) fn load_args(&self) -> Vec<&'static str> {
        let mut args = vec![self.era];
        if !self.handshake {
            args.push("--no-handshake");
        }
        args
    }
}

impl Server {
    /// Its arguments; the script puts the port in. In the modern era ours and tower-mcp are what they are
    /// by default, with sessions for whoever else comes; rmcp answers in JSON only if it has none.
    pub(super) fn args(&self, setting: &Setting) -> Vec<&'static str> {
        let mut args = vec!["{port}"];
        let serves_both = setting.key == "modern" && self.package != "rmcp-http";
        let mode = if serves_both { "session" } else { setting.mode };
        match self.role {
            Role::Limit => {}
            Role::Ours => args.push(mode),
            Role::Taught => args.extend([mode, "taught"]),
            Role::Tuned => args.extend([mode, "tuned"]),
        }
        args
    }
}
