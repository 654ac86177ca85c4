//! An entry of another host in words of ours. What has none is named.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::translate::{Translated, Way};
use super::variables::{read, write};
use super::{Entry, say};
use crate::config::entry::HostKind;
use crate::config::expand::Syntax;
use crate::config::format::{Format, Meaning, OWN_KEYS};

/// What has been said so far.
struct Own<'a> {
    way: &'a Way<'a>,
    said: Map<String, Value>,
    left: Vec<String>,
}

/// Translates; an entry that would be another one then is refused.
pub(super) fn own(way: &Way<'_>, entry: &[(String, Value)]) -> Result<Translated, String> {
    let format = Format::of(way.from.host);
    let mut own = Own { way, said: Map::new(), left: Vec::new() };
    for (key, value) in entry {
        match format.meaning(key) {
            Some(meaning) => own.take(meaning, key, value)?,
            None => own.leave(key, "is not known here"),
        }
    }
    own.unbridge();
    let order = |key: &str| OWN_KEYS.iter().position(|(known, _)| *known == key);
    let mut entry: Entry = own.said.into_iter().collect();
    entry.sort_by_key(|(key, _)| order(key));
    Ok(Translated { entry, left: own.left })
}

impl Own<'_> {
    fn take(&mut self, meaning: Meaning, key: &str, value: &Value) -> Result<(), String> {
        match meaning {
            Meaning::Type => self.kind(value)?,
            Meaning::Command => self.say("command", self.text(value, key)?),
            Meaning::Args => {
                let args = value.as_array().ok_or_else(|| format!("{key:?} is no list"))?;
                let args = args.iter().map(|arg| self.text(arg, key)).collect::<Result<Vec<_>, _>>()?;
                self.say("args", args);
            }
            Meaning::Env => self.named("env", key, value)?,
            Meaning::Headers => self.named("headers", key, value)?,
            Meaning::EnvVars => {
                for one in value.as_array().into_iter().flatten() {
                    let name = one.get("name").unwrap_or(one).as_str().unwrap_or_default();
                    self.member("env", name, format!("${{{name}}}"));
                }
            }
            Meaning::EnvHeaders => {
                for (name, variable) in value.as_object().into_iter().flatten() {
                    self.member("headers", name, format!("${{{}}}", variable.as_str().unwrap_or_default()));
                }
            }
            Meaning::BearerVar => {
                let variable = value.as_str().unwrap_or_default();
                self.member("headers", "Authorization", format!("Bearer ${{{variable}}}"));
            }
            Meaning::EnvFile => self.path("envFile", key, value)?,
            Meaning::Cwd => self.path("cwd", key, value)?,
            Meaning::Url | Meaning::HttpUrl | Meaning::SseUrl => self.address(meaning, key, value)?,
            _ => self.take_permission(meaning, key, value)?,
        }
        Ok(())
    }

    fn take_permission(&mut self, meaning: Meaning, key: &str, value: &Value) -> Result<(), String> {
        let seconds = |unit: f64| value.as_f64().map(|number| json!(number * unit)).map(whole);
        match meaning {
            Meaning::Enabled if *value == json!(false) => self.say("enabled", json!(false)),
            Meaning::Disabled if *value == json!(true) => self.say("enabled", json!(false)),
            Meaning::IncludeTools => self.member("tools", "include", names(value)),
            Meaning::ExcludeTools => self.member("tools", "exclude", names(value)),
            Meaning::Approved | Meaning::ApprovedAll if is_something(value) => {
                self.leave(key, "what needs no question is said in rules of \"policy\" here");
            }
            Meaning::StartupSeconds => self.say_some("startupTimeout", seconds(1.0)),
            Meaning::StartupMillis => self.say_some("startupTimeout", seconds(0.001)),
            Meaning::CallSeconds => self.say_some("callTimeout", seconds(1.0)),
            Meaning::CallMillis => self.say_some("callTimeout", seconds(0.001)),
            // Hosts of one family disagree; nobody means sixteen minutes, or less than a second.
            Meaning::CallEither => {
                let unit = if value.as_f64().is_some_and(|number| number < 1000.0) { 1.0 } else { 0.001 };
                self.say_some("callTimeout", seconds(unit));
            }
            Meaning::OAuth => self.login(key, value),
            Meaning::Scopes => self.member("login", "scopes", value.clone()),
            Meaning::Silent if key == "description" => self.say("description", value.clone()),
            Meaning::Silent => self.leave(key, "says nothing here"),
            Meaning::Left(why) => self.leave(key, why),
            Meaning::Must(_) if *value == json!(false) => {}
            Meaning::Must(why) => return Err(format!("{key:?} {why}")),
            _ => {}
        }
        Ok(())
    }

    fn kind(&mut self, value: &Value) -> Result<(), String> {
        match value.as_str().unwrap_or_default() {
            "stdio" => {}
            "sse" => self.say("type", "sse"),
            "http" | "streamable-http" | "streamableHttp" | "streamable_http" => self.say("type", "http"),
            "ws" => return Err("WebSocket is no transport of the protocol".to_owned()),
            _ => return Err("its type is not known".to_owned()),
        }
        Ok(())
    }

    /// Gemini has two keys for addresses: the newer transport goes first.
    fn address(&mut self, meaning: Meaning, key: &str, value: &Value) -> Result<(), String> {
        if meaning == Meaning::SseUrl && self.said.contains_key("url") {
            return Ok(());
        }
        match meaning {
            Meaning::HttpUrl => self.say("type", "http"),
            Meaning::SseUrl if !self.said.contains_key("type") => self.say("type", "sse"),
            _ => {}
        }
        self.say("url", self.text(value, key)?);
        Ok(())
    }

    fn login(&mut self, key: &str, value: &Value) {
        for (name, detail) in value.as_object().into_iter().flatten() {
            match name.as_str() {
                "clientId" | "CLIENT_ID" | "client_id" => self.member("login", "clientId", detail.clone()),
                "clientSecret" | "CLIENT_SECRET" | "client_secret" => {
                    self.member("login", "clientSecret", detail.clone());
                }
                "scopes" | "scope" => self.member("login", "scopes", detail.clone()),
                "callbackPort" => self.member("login", "callbackPort", detail.clone()),
                "enabled" if *detail == json!(false) => {
                    self.said.insert("login".into(), "none".into()).map_or((), drop)
                }
                "enabled" => {}
                other => self.leave(&format!("{key}.{other}"), "is found out from the server itself"),
            }
        }
    }

    /// Variables or headers, by name.
    fn named(&mut self, section: &str, key: &str, value: &Value) -> Result<(), String> {
        for (name, value) in value.as_object().ok_or_else(|| format!("{key:?} is no object"))? {
            let text = match value {
                Value::String(_) => self.text(value, name)?,
                other => other.to_string().into(),
            };
            self.member(section, name, text);
        }
        Ok(())
    }

    /// A path means the same place, whichever file says it.
    fn path(&mut self, section: &str, key: &str, value: &Value) -> Result<(), String> {
        let text = self.text(value, key)?;
        self.say(section, self.way.moved(text.as_str().unwrap_or_default()));
        Ok(())
    }

    /// A text with its variables in our words.
    fn text(&self, value: &Value, key: &str) -> Result<Value, String> {
        let text = value.as_str().ok_or_else(|| format!("{key:?} is no text"))?;
        let syntax = Format::of(self.way.from.host).syntax;
        let parts = read(syntax, text, self.way.sources, &self.way.workspace);
        let text = parts.and_then(|parts| write(HostKind::Contexture, Syntax::Own, &parts));
        text.map(Value::String).map_err(|why| format!("{key:?}: {why}"))
    }

    /// What was a URL before it became a bridge is one again.
    fn unbridge(&mut self) {
        let is_us = |command: &str| Path::new(command).file_stem().is_some_and(|name| name == "contexture");
        if !self.said.get("command").and_then(Value::as_str).is_some_and(is_us) {
            return;
        }
        let args: Vec<&str> = self
            .said
            .get("args")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let Some((url, headers)) = say::bridged(&args) else { return };
        self.said.remove("command");
        self.said.remove("args");
        self.say("url", url);
        for (name, value) in headers {
            self.member("headers", &name, value);
        }
    }

    fn say(&mut self, key: &str, value: impl Into<Value>) {
        self.said.insert(key.to_owned(), value.into());
    }

    fn say_some(&mut self, key: &str, value: Option<Value>) {
        if let Some(value) = value {
            self.say(key, value);
        }
    }

    fn member(&mut self, section: &str, name: &str, value: impl Into<Value>) {
        let section = self.said.entry(section.to_owned()).or_insert_with(|| json!({}));
        if let Some(members) = section.as_object_mut() {
            members.insert(name.to_owned(), value.into());
        }
    }

    fn leave(&mut self, key: &str, why: &str) {
        self.left.push(format!("{key:?} is left out: {why}"));
    }
}

/// Names of tools; Gemini writes `tool` or `tool(arguments)`.
fn names(value: &Value) -> Value {
    let names = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    names.map(|name| name.split('(').next().unwrap_or_default()).collect()
}

/// Whether something is allowed by it.
fn is_something(value: &Value) -> bool {
    match value {
        Value::Bool(truth) => *truth,
        Value::Array(names) => !names.is_empty(),
        _ => true,
    }
}

/// Numbers without a part behind the point are written without one.
pub(super) fn whole(value: Value) -> Value {
    match value.as_f64() {
        Some(number) if number.fract() == 0.0 && number.abs() < 1e9 => json!(number as i64),
        _ => value,
    }
}
