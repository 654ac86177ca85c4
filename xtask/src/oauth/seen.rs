//! What neither of the programs under test says: the pages that the person saw, and what the issuer was asked.

use super::Run;
use super::stage::Issuer;
use crate::interop::table::Cell;
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};

/// A browser is closed a moment after the program that it served has ended.
const CLOSING: Duration = Duration::from_secs(20);

/// The page before the redirect named the client, what it asks for, and where the person is sent: every time.
pub fn consent(run: &Run, log: &Path, url: &str) -> Cell {
    let visits = match visits(log) {
        Ok(visits) => visits,
        Err(what) => return Cell::Fail(what),
    };
    for (opened, ended) in visits {
        if let Some(error) = ended["error"].as_str() {
            return Cell::Fail(format!("the browser: {error}"));
        }
        let pages = ended["pages"].as_array().map_or(&[][..], Vec::as_slice);
        let [.., consent, redirect] = pages else { return Cell::Fail(format!("too few pages: {pages:?}")) };
        let host = redirect["at"].as_str().unwrap_or_default().trim_start_matches("http://");
        let host = host.split('/').next().unwrap_or_default();
        let scopes = opened["scope"].as_str().unwrap_or_default().split(' ');
        let text = consent["text"].as_str().unwrap_or_default();
        if let Some(word) =
            [run.client, url, host].into_iter().chain(scopes).find(|word| !text.contains(word))
        {
            return match run.issuer {
                Issuer::OidcProvider => {
                    Cell::Absent("the page is oidc-provider's own, and tells less".to_owned())
                }
                Issuer::Ours => Cell::Fail(format!("`{word}` is not on it: {text}")),
            };
        }
    }
    Cell::Ok
}

/// How every visit began and ended, once all of them have ended.
fn visits(log: &Path) -> Result<Vec<(Value, Value)>, String> {
    let start = Instant::now();
    loop {
        let (opened, ended): (Vec<Value>, Vec<Value>) =
            read(log).into_iter().partition(|line| line.get("opened").is_some());
        if opened.is_empty() {
            return Err("nobody opened a browser".to_owned());
        }
        if ended.len() >= opened.len() {
            return Ok(opened.into_iter().zip(ended).collect());
        }
        if start.elapsed() > CLOSING {
            return Err(format!("{} visits began, {} ended", opened.len(), ended.len()));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// How often a browser was opened so far.
pub fn opened(log: &Path) -> usize {
    read(log).iter().filter(|line| line.get("opened").is_some()).count()
}

/// oidc-provider was asked with PKCE and for this resource, every time; it registered a native client once, gave out
/// codes for a login and a step-up, refreshed at least once, and refused nothing.
pub fn issuer(run: &Run, log: &Path, url: &str) -> Cell {
    if run.issuer == Issuer::Ours {
        return Cell::Absent("our issuer keeps no record".to_owned());
    }
    judge(&read(log), url)
}

fn judge(events: &[Value], url: &str) -> Cell {
    let of = |name: &str| events.iter().filter(move |event| event["event"] == name).collect::<Vec<_>>();
    if let Some(error) = events.iter().find(|event| event["event"].as_str().is_some_and(is_failure)) {
        return Cell::Fail(error.to_string());
    }
    let (authorizations, grants) = (of("authorization"), of("grant"));
    let without = |name: &'static str, value| move |event: &&&Value| event[name] != value;
    if let Some(event) = authorizations.iter().find(without("code_challenge_method", "S256")) {
        return Cell::Fail(format!("without PKCE: {event}"));
    }
    if let Some(event) = authorizations.iter().chain(&grants).find(without("resource", url)) {
        return Cell::Fail(format!("not for {url}: {event}"));
    }
    let registrations = of("registration");
    if registrations.len() != 1 || registrations[0]["application_type"] != "native" {
        return Cell::Fail(format!("not one registration of a native client: {registrations:?}"));
    }
    let count = |grant_type: &str| grants.iter().filter(|grant| grant["grant_type"] == grant_type).count();
    if count("authorization_code") != 2 || count("refresh_token") == 0 {
        return Cell::Fail(format!("not the grants of a login, a refresh and a step-up: {grants:?}"));
    }
    Cell::Ok
}

fn is_failure(name: &str) -> bool {
    name.ends_with("error")
}

/// The lines that are JSON objects.
fn read(log: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let values = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    values.filter(Value::is_object).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const URL: &str = "http://127.0.0.1:1/mcp";

    fn grant(grant_type: &str) -> Value {
        json!({ "event": "grant", "grant_type": grant_type, "resource": URL })
    }

    fn all() -> Vec<Value> {
        let authorization =
            json!({ "event": "authorization", "resource": URL, "code_challenge_method": "S256" });
        vec![
            json!({ "event": "registration", "application_type": "native" }),
            authorization.clone(),
            grant("authorization_code"),
            grant("refresh_token"),
            authorization,
            grant("authorization_code"),
        ]
    }

    #[test]
    fn everything_that_the_issuer_saw_counts() {
        assert_eq!(judge(&all(), URL), Cell::Ok);
        let changed = |index: usize, member: &str, value: Value| {
            let mut events = all();
            events[index][member] = value;
            events
        };
        let wrong = [
            changed(0, "application_type", json!("web")),
            changed(1, "code_challenge_method", Value::Null),
            changed(4, "resource", json!("http://127.0.0.1:2/mcp")),
            changed(3, "resource", Value::Null),
            changed(3, "grant_type", json!("authorization_code")),
            changed(5, "event", json!("grant.error")),
            all().split_off(1),
        ];
        for events in wrong {
            assert!(matches!(judge(&events, URL), Cell::Fail(_)), "{events:?}");
        }
    }
}
