//! The formats, as data: which host writes which key, and what it means to us.
//!
//! A key of another host that means nothing here is listed with the reason, so that its owner is told; one that nobody
//! knows is a mistake in a file of ours, and something new in one of theirs.

use super::entry::HostKind;
use super::expand::Syntax;

/// What a key of a server's entry means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    Type,
    Command,
    Args,
    Env,
    /// Names of variables that are handed down.
    EnvVars,
    EnvFile,
    Cwd,
    /// An address; which transport, its type says or nobody.
    Url,
    /// An address of Streamable HTTP.
    HttpUrl,
    /// An address of HTTP+SSE, unless a type says otherwise.
    SseUrl,
    Socket,
    Headers,
    /// Headers whose values are names of variables.
    EnvHeaders,
    /// The name of a variable that holds a bearer token.
    BearerVar,
    Enabled,
    Disabled,
    Prefix,
    Tools,
    Prompts,
    Resources,
    IncludeTools,
    ExcludeTools,
    /// Tools that need no question.
    Approved,
    /// Nothing of this server needs a question.
    ApprovedAll,
    Trusted,
    StartupTime,
    CallTime,
    IdleTime,
    StartupSeconds,
    StartupMillis,
    CallSeconds,
    CallMillis,
    /// Seconds where the number is small, milliseconds where it is not: hosts of one family disagree.
    CallEither,
    Roots,
    Login,
    /// `oauth` or `auth` of other hosts.
    OAuth,
    Scopes,
    Era,
    Sharing,
    /// Says nothing that concerns us.
    Silent,
    /// Is left out, and why.
    Left(&'static str),
    /// Cannot be left out unless it is false: without it, something else would be run than what was meant.
    Must(&'static str),
}

/// How one host's files are written.
#[derive(Debug)]
pub(super) struct Format {
    pub(super) host: HostKind,
    /// Under which keys the servers are.
    pub(super) roots: &'static [&'static str],
    pub(super) keys: &'static [(&'static str, Meaning)],
    pub(super) syntax: Syntax,
}

impl Format {
    pub(super) fn of(host: HostKind) -> &'static Self {
        FORMATS.iter().find(|format| format.host == host).unwrap_or(&FORMATS[0])
    }

    pub(super) fn meaning(&self, key: &str) -> Option<Meaning> {
        let own = self.keys.iter();
        // Files of these hosts are copied from one to another by hand.
        let family = if self.is_strict() || self.host == HostKind::Codex { [].iter() } else { FAMILY.iter() };
        own.chain(family).find(|(known, _)| *known == key).map(|(_, meaning)| *meaning)
    }

    /// Whether an unknown key is a mistake.
    pub(super) fn is_strict(&self) -> bool {
        self.host == HostKind::Contexture
    }
}

const NO_COMMANDS: &str = "commands that make headers are not run: put the header into \"headers\", from a variable, or use a login";
const NO_PROVIDER: &str = "other ways to log in than OAuth are not known here";
const NO_SANDBOX: &str = "asks for a sandbox that does not exist here, and is not run without one: say false, or leave it to its host";

/// Keys of our own file's entries.
pub(super) const OWN_KEYS: &[(&str, Meaning)] = &[
    ("type", Meaning::Type),
    ("command", Meaning::Command),
    ("args", Meaning::Args),
    ("env", Meaning::Env),
    ("envFile", Meaning::EnvFile),
    ("cwd", Meaning::Cwd),
    ("url", Meaning::Url),
    ("headers", Meaning::Headers),
    ("socket", Meaning::Socket),
    ("enabled", Meaning::Enabled),
    ("prefix", Meaning::Prefix),
    ("tools", Meaning::Tools),
    ("prompts", Meaning::Prompts),
    ("resources", Meaning::Resources),
    ("trusted", Meaning::Trusted),
    ("startupTimeout", Meaning::StartupTime),
    ("callTimeout", Meaning::CallTime),
    ("idleTimeout", Meaning::IdleTime),
    ("roots", Meaning::Roots),
    ("login", Meaning::Login),
    ("era", Meaning::Era),
    ("sharing", Meaning::Sharing),
    ("description", Meaning::Silent),
];

/// What all of the family that began with `mcpServers` may have.
const FAMILY: &[(&str, Meaning)] = &[
    ("type", Meaning::Type),
    ("transport", Meaning::Type),
    ("transportType", Meaning::Type),
    ("command", Meaning::Command),
    ("args", Meaning::Args),
    ("env", Meaning::Env),
    ("envFile", Meaning::EnvFile),
    ("cwd", Meaning::Cwd),
    ("url", Meaning::Url),
    ("serverUrl", Meaning::Url),
    ("headers", Meaning::Headers),
    ("disabled", Meaning::Disabled),
    ("enabled", Meaning::Enabled),
    ("autoApprove", Meaning::Approved),
    ("alwaysAllow", Meaning::Approved),
    ("disabledTools", Meaning::ExcludeTools),
    ("timeout", Meaning::CallEither),
    ("oauth", Meaning::OAuth),
    ("auth", Meaning::OAuth),
    ("headersHelper", Meaning::Left(NO_COMMANDS)),
    ("description", Meaning::Silent),
    ("name", Meaning::Silent),
];

static FORMATS: [Format; 8] = [
    Format {
        host: HostKind::Contexture,
        roots: &["servers", "mcpServers"],
        keys: OWN_KEYS,
        syntax: Syntax::Own,
    },
    Format { host: HostKind::ClaudeDesktop, roots: &["mcpServers"], keys: &[], syntax: Syntax::Plain },
    Format {
        host: HostKind::ClaudeCode,
        roots: &["mcpServers"],
        keys: &[("timeout", Meaning::CallMillis), ("alwaysLoad", Meaning::Silent)],
        syntax: Syntax::Shell,
    },
    Format {
        host: HostKind::VsCode,
        roots: &["servers", "mcpServers"],
        keys: &[
            ("dev", Meaning::Left("is for those who develop this server in their editor")),
            ("sandboxEnabled", Meaning::Must(NO_SANDBOX)),
            ("sandbox", Meaning::Left("is a sandbox that does not exist here")),
            ("gallery", Meaning::Silent),
            ("version", Meaning::Silent),
        ],
        syntax: Syntax::Editor,
    },
    Format { host: HostKind::Cursor, roots: &["mcpServers"], keys: &[], syntax: Syntax::Editor },
    Format { host: HostKind::Windsurf, roots: &["mcpServers"], keys: &[], syntax: Syntax::Editor },
    Format {
        host: HostKind::Gemini,
        roots: &["mcpServers"],
        keys: &[
            ("httpUrl", Meaning::HttpUrl),
            ("url", Meaning::SseUrl),
            ("timeout", Meaning::CallMillis),
            ("trust", Meaning::ApprovedAll),
            ("includeTools", Meaning::IncludeTools),
            ("excludeTools", Meaning::ExcludeTools),
            ("authProviderType", Meaning::Left(NO_PROVIDER)),
            ("targetAudience", Meaning::Left(NO_PROVIDER)),
            ("targetServiceAccount", Meaning::Left(NO_PROVIDER)),
            ("tcp", Meaning::Left("was a WebSocket address; that is no transport of the protocol")),
            ("extension", Meaning::Silent),
        ],
        syntax: Syntax::Dollar,
    },
    Format {
        host: HostKind::Codex,
        roots: &["mcp_servers"],
        keys: &[
            ("command", Meaning::Command),
            ("args", Meaning::Args),
            ("env", Meaning::Env),
            ("env_vars", Meaning::EnvVars),
            ("cwd", Meaning::Cwd),
            ("url", Meaning::HttpUrl),
            ("bearer_token_env_var", Meaning::BearerVar),
            ("http_headers", Meaning::Headers),
            ("env_http_headers", Meaning::EnvHeaders),
            ("startup_timeout_sec", Meaning::StartupSeconds),
            ("startup_timeout_ms", Meaning::StartupMillis),
            ("tool_timeout_sec", Meaning::CallSeconds),
            ("enabled", Meaning::Enabled),
            ("enabled_tools", Meaning::IncludeTools),
            ("disabled_tools", Meaning::ExcludeTools),
            ("scopes", Meaning::Scopes),
            ("required", Meaning::Left("a server that does not start is shown as such; the others work")),
            ("bearer_token", Meaning::Must("is no longer read by its host: use \"bearer_token_env_var\"")),
            ("tools", Meaning::Left("write rules of \"policy\" in a file of ours instead")),
            (
                "default_tools_approval_mode",
                Meaning::Left("write rules of \"policy\" in a file of ours instead"),
            ),
        ],
        syntax: Syntax::Plain,
    },
];
