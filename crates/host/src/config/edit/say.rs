//! An entry of ours in another host's words. What that host has no word for is named; what would not be the same server is refused.

use serde_json::{Map, Value, json};

use super::Entry;
use super::own::whole;
use super::translate::{Translated, Way};
use super::variables::{Part, read, write};
use crate::config::entry::HostKind;
use crate::config::expand::Syntax;
use crate::config::format::{Format, Meaning};
use crate::config::reading::spoken;

/// The key that a host has for a meaning, if it has one.
pub(super) fn key(host: HostKind, meaning: Meaning) -> Option<&'static str> {
    use HostKind as H;
    use Meaning as M;
    Some(match (meaning, host) {
        (M::Type, H::ClaudeCode | H::VsCode) => "type",
        (M::Cwd, H::VsCode | H::Gemini | H::Codex) => "cwd",
        (M::EnvFile, H::VsCode | H::Cursor) => "envFile",
        (M::HttpUrl, H::Gemini) => "httpUrl",
        (M::HttpUrl, H::Windsurf) => "serverUrl",
        (M::SseUrl, H::Windsurf) => "serverUrl",
        (M::HttpUrl, H::ClaudeCode | H::VsCode | H::Cursor | H::Codex) => "url",
        (M::SseUrl, H::ClaudeCode | H::VsCode | H::Cursor | H::Gemini) => "url",
        (M::Headers, H::Codex) => "http_headers",
        (M::Headers, H::ClaudeCode | H::VsCode | H::Cursor | H::Windsurf | H::Gemini) => "headers",
        (M::Enabled, H::Contexture | H::Codex) => "enabled",
        (M::Disabled, H::Windsurf) => "disabled",
        (M::IncludeTools, H::Gemini) => "includeTools",
        (M::IncludeTools, H::Codex) => "enabled_tools",
        (M::ExcludeTools, H::Gemini) => "excludeTools",
        (M::ExcludeTools, H::Codex) => "disabled_tools",
        (M::ExcludeTools, H::Windsurf) => "disabledTools",
        (M::CallMillis, H::ClaudeCode | H::Gemini) => "timeout",
        (M::CallSeconds, H::Codex) => "tool_timeout_sec",
        (M::StartupSeconds, H::Codex) => "startup_timeout_sec",
        (M::OAuth, H::ClaudeCode | H::VsCode | H::Gemini) => "oauth",
        (M::OAuth, H::Cursor) => "auth",
        (M::Scopes, H::Codex) => "scopes",
        _ => return None,
    })
}

struct Saying<'a> {
    way: &'a Way<'a>,
    host: HostKind,
    own: Map<String, Value>,
    said: Entry,
    left: Vec<String>,
}

pub(super) fn say(way: &Way<'_>, own: &[(String, Value)]) -> Result<Translated, String> {
    let own = own.iter().cloned().collect();
    let mut saying = Saying { way, host: way.to.host, own, said: Vec::new(), left: Vec::new() };
    saying.transport()?;
    saying.rest();
    Ok(Translated { entry: saying.said, left: saying.left })
}

impl Saying<'_> {
    fn transport(&mut self) -> Result<(), String> {
        let kind = self.own.remove("type");
        let kind = kind.as_ref().and_then(Value::as_str).unwrap_or_default();
        match (self.own.remove("command"), self.own.remove("url")) {
            (Some(command), None) => self.process(&command),
            (Some(command), Some(_)) if kind == "stdio" => self.process(&command),
            (_, Some(url)) => self.address(&url, kind == "sse"),
            (None, None) => Err("it has neither a command nor an address".to_owned()),
        }
    }

    fn process(&mut self, command: &Value) -> Result<(), String> {
        if key(self.host, Meaning::Type).is_some() {
            self.put("type", "stdio");
        }
        let command = self.text(command, "command")?;
        self.put("command", command);
        if let Some(Value::Array(args)) = self.own.remove("args") {
            let args = args.iter().map(|arg| self.text(arg, "args")).collect::<Result<Vec<_>, _>>()?;
            self.put("args", args);
        }
        let env = self.named("env");
        let (handed, env): (Vec<_>, Vec<_>) = env.into_iter().partition(|(name, parts)| {
            let same = Part::Variable { name: name.clone(), default: None };
            self.host == HostKind::Codex && *parts == [same]
        });
        self.section("env", "env", env);
        if !handed.is_empty() {
            self.put("env_vars", handed.into_iter().map(|(name, _)| name).collect::<Vec<_>>());
        }
        self.path("envFile", Meaning::EnvFile);
        self.path("cwd", Meaning::Cwd);
        Ok(())
    }

    fn address(&mut self, url: &Value, sse: bool) -> Result<(), String> {
        let mut url = self.text(url, "url")?.as_str().unwrap_or_default().to_owned();
        if let Some(socket) = self.own.remove("socket") {
            if self.host != HostKind::VsCode {
                return Err(format!("it listens at a socket, which {} cannot reach", self.host));
            }
            let path =
                url.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map_or("", |(_, path)| path);
            url = format!("unix://{}#/{path}", socket.as_str().unwrap_or_default());
        }
        let meaning = if sse { Meaning::SseUrl } else { Meaning::HttpUrl };
        let Some(word) = key(self.host, meaning) else { return self.bridge(&url) };
        if key(self.host, Meaning::Type).is_some() {
            self.put("type", if sse { "sse" } else { "http" });
        }
        self.put(word, url);
        let headers = self.named("headers");
        if self.host == HostKind::Codex {
            self.codex_headers(headers)
        } else {
            self.section("headers", "headers", headers)
        }
        Ok(())
    }

    /// What a host cannot reach by itself it reaches through us. Which of the two transports it is, a bridge finds out.
    fn bridge(&mut self, url: &str) -> Result<(), String> {
        if url.starts_with("unix:") {
            return Err(format!("it listens at a socket, which {} cannot reach", self.host));
        }
        let mut args = vec!["bridge".to_owned(), url.to_owned()];
        for (name, parts) in self.named("headers") {
            match write(self.host, Format::of(self.host).syntax, &parts) {
                Ok(value) => args.extend(["--header".to_owned(), format!("{name}: {value}")]),
                Err(why) => self.leave(&format!("headers.{name}"), &why),
            }
        }
        self.put("command", self.way.program);
        self.put("args", args);
        Ok(())
    }

    /// Codex names variables for headers, and writes nothing around them but `Bearer`.
    fn codex_headers(&mut self, headers: Vec<(String, Vec<Part>)>) {
        let (mut plain, mut variables) = (Vec::new(), Map::new());
        for (name, parts) in headers {
            match parts.as_slice() {
                [Part::Variable { name: variable, default: None }] => {
                    variables.insert(name, json!(variable));
                }
                [Part::Text(word), Part::Variable { name: variable, default: None }]
                    if word == "Bearer " && name.eq_ignore_ascii_case("authorization") =>
                {
                    self.put("bearer_token_env_var", variable.as_str());
                }
                _ => plain.push((name, parts)),
            }
        }
        self.section("http_headers", "headers", plain);
        if !variables.is_empty() {
            self.put("env_http_headers", variables);
        }
    }

    fn rest(&mut self) {
        if self.own.remove("enabled") == Some(json!(false)) {
            match (key(self.host, Meaning::Enabled), key(self.host, Meaning::Disabled)) {
                (Some(word), _) => self.put(word, false),
                (_, Some(word)) => self.put(word, true),
                _ => self.leave(
                    "enabled",
                    &format!("{} has no word for it, and will start this server", self.host),
                ),
            }
        }
        self.time("startupTimeout", &[(Meaning::StartupSeconds, 1.0)]);
        self.time("callTimeout", &[(Meaning::CallSeconds, 1.0), (Meaning::CallMillis, 1000.0)]);
        self.tools();
        self.login();
        let host = self.host;
        for (word, _) in std::mem::take(&mut self.own) {
            self.leave(&word, &format!("{host} has no word for it"));
        }
    }

    fn time(&mut self, word: &str, ways: &[(Meaning, f64)]) {
        let Some(value) = self.own.get(word) else { return };
        let seconds = value.as_f64().or_else(|| spoken(value.as_str()?));
        let found = ways.iter().find_map(|(meaning, unit)| Some((key(self.host, *meaning)?, *unit)));
        if let (Some(seconds), Some((key, unit))) = (seconds, found) {
            self.own.remove(word);
            self.put(key, whole(json!((seconds * unit * 1000.0).round() / 1000.0)));
        }
    }

    fn tools(&mut self) {
        let Some(filter) = self.own.remove("tools") else { return };
        let parts = match &filter {
            Value::Array(_) => vec![(Meaning::IncludeTools, "tools.include", filter.clone())],
            _ => [
                (Meaning::IncludeTools, "tools.include", "include"),
                (Meaning::ExcludeTools, "tools.exclude", "exclude"),
            ]
            .into_iter()
            .filter_map(|(meaning, name, part)| Some((meaning, name, filter.get(part)?.clone())))
            .collect(),
        };
        for (meaning, name, names) in parts {
            let host = self.host;
            let starred = names.to_string().contains('*');
            match key(host, meaning) {
                Some(_) if starred => self.leave(name, &format!("{host} knows no names with a star")),
                Some(word) => self.put(word, names),
                None => self.leave(name, &format!("{host} has no word for it")),
            }
        }
    }

    fn login(&mut self) {
        // Whoever is asked to log in, is.
        if self.own.get("login").and_then(Value::as_str) == Some("user") {
            self.own.remove("login");
        }
        let Some(Value::Object(login)) = self.own.get("login").cloned() else { return };
        self.own.remove("login");
        let details: &[(&str, &str)] = match self.host {
            HostKind::ClaudeCode => {
                &[("clientId", "clientId"), ("callbackPort", "callbackPort"), ("scopes", "scopes")]
            }
            HostKind::VsCode => &[("clientId", "clientId")],
            HostKind::Gemini => {
                &[("clientId", "clientId"), ("clientSecret", "clientSecret"), ("scopes", "scopes")]
            }
            HostKind::Cursor => {
                &[("clientId", "CLIENT_ID"), ("clientSecret", "CLIENT_SECRET"), ("scopes", "scopes")]
            }
            _ => &[],
        };
        let mut said = Map::new();
        for (name, value) in login {
            let word = details.iter().find(|(own, _)| *own == name).map(|(_, word)| *word);
            let text = if value.is_string() { self.text(&value, &name) } else { Ok(value) };
            match (word, text, key(self.host, Meaning::Scopes)) {
                _ if name == "for" => {}
                (_, Err(why), _) => self.leave(&format!("login.{name}"), &why),
                (Some(word), Ok(value), _) => drop(said.insert(word.to_owned(), value)),
                (None, Ok(value), Some(word)) if name == "scopes" => self.put(word, value),
                _ => self.leave(&format!("login.{name}"), &format!("{} has no word for it", self.host)),
            }
        }
        if let (false, Some(word)) = (said.is_empty(), key(self.host, Meaning::OAuth)) {
            self.put(word, said);
        }
    }

    /// Variables or headers, taken apart.
    fn named(&mut self, section: &str) -> Vec<(String, Vec<Part>)> {
        let Some(Value::Object(members)) = self.own.remove(section) else { return Vec::new() };
        let mut named = Vec::new();
        for (name, value) in members {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            match read(Syntax::Own, &text, self.way.sources, &self.way.workspace) {
                Ok(parts) => named.push((name, parts)),
                Err(why) => self.leave(&format!("{section}.{name}"), &why),
            }
        }
        named
    }

    fn section(&mut self, word: &str, section: &str, members: Vec<(String, Vec<Part>)>) {
        let mut said = Map::new();
        for (name, parts) in members {
            match write(self.host, Format::of(self.host).syntax, &parts) {
                Ok(text) => drop(said.insert(name, text.into())),
                Err(why) => self.leave(&format!("{section}.{name}"), &why),
            }
        }
        if !said.is_empty() {
            self.put(word, said);
        }
    }

    fn path(&mut self, word: &str, meaning: Meaning) {
        let Some(value) = self.own.remove(word) else { return };
        match (key(self.host, meaning), self.text(&value, word)) {
            (Some(key), Ok(text)) => self.put(key, text),
            (None, _) => self.leave(word, &format!("{} has no word for it", self.host)),
            (_, Err(why)) => self.leave(word, &why),
        }
    }

    fn text(&self, value: &Value, word: &str) -> Result<Value, String> {
        let text = value.as_str().ok_or_else(|| format!("{word:?} is no text"))?;
        let parts = read(Syntax::Own, text, self.way.sources, &self.way.workspace);
        let text = parts.and_then(|parts| write(self.host, Format::of(self.host).syntax, &parts));
        text.map(Value::String).map_err(|why| format!("{word:?}: {why}"))
    }

    fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.said.push((key.to_owned(), value.into()));
    }

    fn leave(&mut self, word: &str, why: &str) {
        self.left.push(format!("{word:?} is left out: {why}"));
    }
}

/// What a bridge leads to: its address, and headers.
pub(super) fn bridged(args: &[&str]) -> Option<(String, Vec<(String, String)>)> {
    let ["bridge", url, rest @ ..] = args else { return None };
    let (mut headers, mut rest) = (Vec::new(), rest);
    while let ["--header", header, behind @ ..] = rest {
        let (name, value) = header.split_once(':')?;
        headers.push((name.trim().to_owned(), value.trim().to_owned()));
        rest = behind;
    }
    (rest.is_empty() && url.contains("://")).then(|| ((*url).to_owned(), headers))
}
