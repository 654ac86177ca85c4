//! One server's entry, key by key, in whichever format; and the entry that comes of it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use contexture::auth::Secret;
use contexture::revision::Era;
use url::Url;

use super::entry::{Login, LoginFor, RootsFor, ServerEntry, Sharing, Standing, TransportSpec};
use super::env_file;
use super::format::{Format, Meaning};
use super::nearest::nearest;
use super::node::{Node, Tree, begin, feed, finish};
use super::pattern::{Filter, Pattern};
use super::reading::Reading;
use super::sections;

/// An entry, and what else its file says about it.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) entry: ServerEntry,
    /// As it was written, for people.
    pub(super) written: serde_json::Value,
    /// Tools that its file says need no question.
    pub(super) approved: Vec<String>,
}

/// Which transport an entry says that it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Stdio,
    Http,
    Sse,
    WebSocket,
}

const KINDS: &[(&str, Kind)] = &[
    ("stdio", Kind::Stdio),
    ("http", Kind::Http),
    ("streamable-http", Kind::Http),
    ("streamableHttp", Kind::Http),
    ("streamable_http", Kind::Http),
    ("sse", Kind::Sse),
    ("ws", Kind::WebSocket),
];

/// What has been read of an entry so far.
#[derive(Default)]
struct Draft {
    kind: Option<Kind>,
    command: Option<String>,
    args: Vec<String>,
    env: BTreeMap<String, Secret>,
    env_files: Vec<(PathBuf, usize)>,
    cwd: Option<String>,
    url: Option<(String, Option<Kind>)>,
    socket: Option<String>,
    headers: Vec<(String, Secret)>,
    disabled: bool,
    no_prefix: bool,
    tools: Filter,
    prompts: Filter,
    resources: Filter,
    approved: Vec<String>,
    trusted: bool,
    startup_time: Option<Duration>,
    call_time: Option<Duration>,
    idle_time: Option<Duration>,
    roots: Option<RootsFor>,
    login: Option<LoginFor>,
    era: Option<Era>,
    sharing: Sharing,
}

/// Reads one entry. `None` if it is broken; why, is among the faults.
pub(super) fn entry(reading: &mut Reading<'_>, name: &str, line: usize, node: &Node) -> Option<Found> {
    let format = Format::of(reading.host);
    let before = std::mem::take(&mut reading.broken);
    reading.server = Some(name.to_owned());
    let found = named(reading, name, line).then(|| read(reading, format, name, line, node)).flatten();
    reading.server = None;
    let broken = std::mem::replace(&mut reading.broken, before);
    found.filter(|_| !broken)
}

/// Names are shown, and become part of other names.
fn named(reading: &mut Reading<'_>, name: &str, line: usize) -> bool {
    let good = !name.is_empty() && name.len() <= 128 && !name.chars().any(char::is_control);
    if !good {
        reading.server = None;
        reading.error(line, "a server's name has 1 to 128 bytes and no control characters");
    }
    good
}

fn read(reading: &mut Reading<'_>, format: &Format, name: &str, line: usize, node: &Node) -> Option<Found> {
    let mut draft = Draft::default();
    for member in reading.map(node, name) {
        match format.meaning(&member.key) {
            Some(meaning) => draft.take(reading, meaning, &member.key, &member.node),
            None => unknown(reading, format, &member.key, member.line),
        }
    }
    let mut digest = begin();
    feed(&mut digest, b'@', reading.host.word());
    node.digest(&mut digest);
    for (file, line) in std::mem::take(&mut draft.env_files) {
        let text = env_file::read(reading, &file, line)?;
        feed(&mut digest, b'=', &text);
        for (key, value) in env_file::variables(&text) {
            draft.env.entry(key).or_insert_with(|| Secret::new(value));
        }
    }
    let approved = std::mem::take(&mut draft.approved);
    let mut entry = draft.finish(reading, name, line)?;
    entry.definition = finish(digest);
    Some(Found { entry, written: node.to_value(), approved })
}

fn unknown(reading: &mut Reading<'_>, format: &Format, key: &str, line: usize) {
    let near = nearest(key, format.keys.iter().map(|(key, _)| *key));
    let near = near.map(|near| format!("; did you mean {near:?}?")).unwrap_or_default();
    if format.is_strict() {
        reading.error(line, format!("{key:?} is no key of a server{near}"));
    } else {
        reading.notice(line, format!("{key:?} is not known here, and left out{near}"));
    }
}

impl Draft {
    fn take(&mut self, reading: &mut Reading<'_>, meaning: Meaning, key: &str, node: &Node) {
        match meaning {
            Meaning::Type => self.kind = reading.one_of(node, key, KINDS),
            Meaning::Command
            | Meaning::Args
            | Meaning::Env
            | Meaning::EnvVars
            | Meaning::EnvFile
            | Meaning::Cwd => {
                self.take_process(reading, meaning, key, node);
            }
            Meaning::Url
            | Meaning::HttpUrl
            | Meaning::SseUrl
            | Meaning::Socket
            | Meaning::Headers
            | Meaning::EnvHeaders
            | Meaning::BearerVar => self.take_address(reading, meaning, key, node),
            Meaning::StartupTime
            | Meaning::CallTime
            | Meaning::IdleTime
            | Meaning::StartupSeconds
            | Meaning::StartupMillis
            | Meaning::CallSeconds
            | Meaning::CallMillis
            | Meaning::CallEither => self.take_time(reading, meaning, key, node),
            Meaning::Silent => {}
            Meaning::Left(why) => reading.notice(node.line, format!("{key:?} is left out: {why}")),
            Meaning::Must(_) if node.tree == Tree::Bool(false) => {}
            Meaning::Must(why) => reading.error(node.line, format!("{key:?} {why}")),
            _ => self.take_permission(reading, meaning, key, node),
        }
    }

    fn take_process(&mut self, reading: &mut Reading<'_>, meaning: Meaning, key: &str, node: &Node) {
        match meaning {
            Meaning::Command => self.command = reading.text(node, key),
            Meaning::Args => self.args = reading.texts(node, key),
            Meaning::Env => {
                let variables = reading.named_texts(node, key);
                for (name, value) in variables {
                    if name.is_empty() || name.contains(['=', '\0']) {
                        reading.error(node.line, format!("{name:?} cannot be the name of a variable"));
                    }
                    self.env.insert(name, Secret::new(value));
                }
            }
            Meaning::EnvVars => self.hand_down(reading, key, node),
            Meaning::EnvFile => {
                if let Some(file) = reading.text(node, key) {
                    self.env_files.push((reading.base().join(file), node.line));
                }
            }
            _ => self.cwd = reading.text(node, key),
        }
    }

    /// Variables by name; one that is not set is not handed down.
    fn hand_down(&mut self, reading: &mut Reading<'_>, key: &str, node: &Node) {
        let Tree::List(nodes) = &node.tree else {
            return reading.error(node.line, format!("{key:?} is no list of names of variables"));
        };
        for node in nodes {
            let Some(name) = reading.word(node.get("name").unwrap_or(node), key) else { return };
            if let Some(value) = reading.expand.environment.get(name) {
                self.env.entry(name.to_owned()).or_insert_with(|| Secret::new(value));
            }
        }
    }

    fn take_address(&mut self, reading: &mut Reading<'_>, meaning: Meaning, key: &str, node: &Node) {
        match meaning {
            // Gemini has two keys for addresses: the newer transport goes first.
            Meaning::Url | Meaning::HttpUrl | Meaning::SseUrl => {
                let kind = match meaning {
                    Meaning::HttpUrl => Some(Kind::Http),
                    Meaning::SseUrl => Some(Kind::Sse),
                    _ => None,
                };
                let url = reading.text(node, key).map(|url| (url, kind));
                if self.url.as_ref().is_none_or(|(_, kind)| *kind != Some(Kind::Http)) {
                    self.url = url;
                }
            }
            Meaning::Socket => self.socket = reading.text(node, key),
            Meaning::Headers => {
                let headers = reading.named_texts(node, key);
                headers.into_iter().for_each(|(name, value)| self.header(reading, node.line, name, value));
            }
            Meaning::EnvHeaders => {
                for (name, variable) in reading.named_texts(node, key) {
                    if let Some(value) = variable_of(reading, node.line, &variable) {
                        self.header(reading, node.line, name, value);
                    }
                }
            }
            _ => {
                let Some(variable) = reading.text(node, key) else { return };
                if let Some(token) = variable_of(reading, node.line, &variable) {
                    self.header(reading, node.line, "Authorization".to_owned(), format!("Bearer {token}"));
                }
            }
        }
    }

    /// A header that HTTP has no place for would be an error of every request: it is one of the entry.
    fn header(&mut self, reading: &mut Reading<'_>, line: usize, name: String, value: String) {
        let good = http::HeaderName::from_bytes(name.as_bytes()).is_ok();
        if !good || http::HeaderValue::from_str(&value).is_err() {
            return reading
                .error(line, format!("the header {name:?} has a name or a value that HTTP does not allow"));
        }
        self.headers.push((name, Secret::new(value)));
    }

    fn take_time(&mut self, reading: &mut Reading<'_>, meaning: Meaning, key: &str, node: &Node) {
        match meaning {
            Meaning::StartupTime => self.startup_time = reading.spoken_time(node, key),
            Meaning::IdleTime => self.idle_time = reading.spoken_time(node, key),
            Meaning::StartupSeconds => self.startup_time = reading.time(node, key, 1.0),
            Meaning::StartupMillis => self.startup_time = reading.time(node, key, 0.001),
            Meaning::CallTime => self.call_time = reading.spoken_time(node, key),
            Meaning::CallSeconds => self.call_time = reading.time(node, key, 1.0),
            Meaning::CallEither if is_small(node) => self.call_time = reading.time(node, key, 1.0),
            _ => self.call_time = reading.time(node, key, 0.001),
        }
    }

    fn take_permission(&mut self, reading: &mut Reading<'_>, meaning: Meaning, key: &str, node: &Node) {
        match meaning {
            Meaning::Enabled => self.disabled = reading.truth(node, key) == Some(false),
            Meaning::Disabled => self.disabled = reading.truth(node, key) == Some(true),
            Meaning::Prefix => self.no_prefix = reading.truth(node, key) == Some(false),
            Meaning::Trusted => self.trusted = reading.truth(node, key) == Some(true),
            Meaning::Tools => self.tools = sections::filter(reading, node, key),
            Meaning::Prompts => self.prompts = sections::filter(reading, node, key),
            Meaning::Resources => self.resources = sections::filter(reading, node, key),
            // Other hosts know no stars in these: what looks like one is meant for a star.
            Meaning::IncludeTools => self.tools.include = Some(tool_names(reading, node, key)),
            Meaning::ExcludeTools => self.tools.exclude.extend(tool_names(reading, node, key)),
            Meaning::Approved if node.tree == Tree::Bool(true) => self.approved.push("*".to_owned()),
            Meaning::Approved if node.tree == Tree::Bool(false) => {}
            Meaning::Approved => self.approved.extend(reading.texts(node, key)),
            Meaning::ApprovedAll if reading.truth(node, key) == Some(true) => {
                self.approved.push("*".to_owned())
            }
            Meaning::Roots => self.roots = sections::roots(reading, node, key),
            Meaning::Login => self.login = sections::login(reading, node, key),
            Meaning::OAuth => self.login = sections::oauth(reading, node, key),
            Meaning::Scopes => {
                let scopes = reading.texts(node, key);
                self.login = Some(LoginFor::User(Login { scopes, ..Login::default() }));
            }
            Meaning::Era => self.era = reading.one_of(node, key, sections::ERAS).flatten(),
            Meaning::Sharing => {
                self.sharing = reading.one_of(node, key, sections::SHARINGS).unwrap_or_default()
            }
            _ => {}
        }
    }

    fn finish(self, reading: &mut Reading<'_>, name: &str, line: usize) -> Option<ServerEntry> {
        let transport = self.transport(reading, line)?;
        let authorized = matches!(&transport, TransportSpec::Http { headers, .. }
            if headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")));
        let mut entry = ServerEntry::new(name, transport, reading.origin(line));
        if authorized {
            entry.login = LoginFor::None;
        }
        entry.login = self.login.unwrap_or(entry.login);
        if self.disabled {
            entry.standing = Standing::Disabled;
        }
        entry.prefix = !self.no_prefix;
        (entry.tools, entry.prompts, entry.resources) = (self.tools, self.prompts, self.resources);
        entry.trusted = self.trusted;
        entry.startup_time = self.startup_time.unwrap_or(entry.startup_time);
        entry.call_time = self.call_time.unwrap_or(entry.call_time);
        entry.idle_time = self.idle_time.unwrap_or(entry.idle_time);
        entry.roots = self.roots.unwrap_or(entry.roots);
        (entry.era, entry.sharing) = (self.era, self.sharing);
        Some(entry)
    }

    fn transport(&self, reading: &mut Reading<'_>, line: usize) -> Option<TransportSpec> {
        let wrong = match (&self.command, &self.url, self.kind) {
            (_, _, Some(Kind::WebSocket)) => {
                "WebSocket is no transport of the protocol: ask for an address of \"http\""
            }
            (Some(_), Some(_), None) => "has both a command and an address: \"type\" says which is meant",
            (None, None, _) if reading.broken => return None, // Why, has been said.
            (None, None, _) => "has neither \"command\" nor an address",
            (None, _, Some(Kind::Stdio)) => "is of type \"stdio\", but has no \"command\"",
            (_, None, Some(Kind::Http | Kind::Sse)) => "is reached over HTTP, but has no address",
            (Some(command), _, None | Some(Kind::Stdio)) if command.trim().is_empty() => {
                "has an empty \"command\""
            }
            (Some(command), _, None | Some(Kind::Stdio)) => return Some(self.stdio(reading, command)),
            (_, Some((url, kind)), _) => return self.http(reading, line, url, self.kind.or(*kind)),
        };
        reading.error(line, wrong);
        None
    }

    fn stdio(&self, reading: &Reading<'_>, command: &str) -> TransportSpec {
        TransportSpec::Stdio {
            command: command.to_owned(),
            args: self.args.clone(),
            env: self.env.clone(),
            cwd: self.cwd.as_ref().map(|cwd| reading.base().join(cwd)),
        }
    }

    fn http(
        &self,
        reading: &mut Reading<'_>,
        line: usize,
        url: &str,
        kind: Option<Kind>,
    ) -> Option<TransportSpec> {
        let mut socket = self.socket.as_ref().map(|socket| reading.base().join(socket));
        let (headers, sse) = (self.headers.clone(), kind == Some(Kind::Sse));
        let parsed = Url::parse(url).ok().filter(|url| match url.scheme() {
            "http" | "https" => url.has_host(),
            scheme => scheme == "unix",
        });
        // The address itself is not shown: a key may be part of it.
        let Some(parsed) = parsed else {
            reading.error(line, "its address is no URL of http, https or unix");
            return None;
        };
        if parsed.scheme() == "unix" {
            // The path on the server comes as the fragment.
            socket = Some(PathBuf::from(parsed.path()));
            let path = parsed.fragment().unwrap_or_default().trim_start_matches('/');
            return Some(TransportSpec::Http {
                url: format!("http://localhost/{path}"),
                headers,
                sse,
                socket,
            });
        }
        if !parsed.username().is_empty() || parsed.password().is_some() {
            reading.error(line, "its address has a user or a password in it: use \"headers\" or a login");
            return None;
        }
        Some(TransportSpec::Http { url: parsed.into(), headers, sse, socket })
    }
}

fn variable_of(reading: &mut Reading<'_>, line: usize, name: &str) -> Option<String> {
    let value = reading.expand.environment.get(name).map(str::to_owned);
    if value.is_none() {
        reading.error(line, format!("the variable {name} is not set"));
    }
    value
}

/// Gemini writes `tool` or `tool(arguments)`.
fn tool_names(reading: &mut Reading<'_>, node: &Node, key: &str) -> Vec<Pattern> {
    let names = reading.texts(node, key);
    names.iter().map(|name| Pattern::new(name.split('(').next().unwrap_or_default())).collect()
}

/// Whether a time can only be meant in seconds.
fn is_small(node: &Node) -> bool {
    matches!(&node.tree, Tree::Number(number) if number.as_f64().is_some_and(|number| number < 1000.0))
}
