//! What neither of the programs under test says: the pages that the person saw, and what the issuer was asked.

use super::stage::{Issuer, SCOPE, Stage};
use crate::interop::table::Cell;
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};

/// A browser is closed a moment after the program that it served has ended.
const CLOSING: Duration = Duration::from_secs(20);

/// Our consent page names the scopes that are asked for and the host of the redirect.
pub fn consent(issuer: Issuer, log: &Path, stage: &Stage) -> Cell {
    let visits = match visits(log) {
        Ok(visits) => visits,
        Err(what) => return Cell::Fail(what),
    };
    if let Some(error) = visits.iter().find_map(|visit| visit["error"].as_str()) {
        return Cell::Fail(format!("the browser: {error}"));
    }
    if issuer == Issuer::OidcProvider {
        return Cell::Absent("the page is oidc-provider's own".to_owned());
    }
    let pages = visits.iter().filter_map(|visit| visit["pages"].as_array()).flatten();
    let texts: Vec<&str> = pages.filter_map(|page| page["text"].as_str()).collect();
    let named = |words: &[&str]| texts.iter().any(|text| words.iter().all(|word| text.contains(word)));
    match () {
        () if !named(&["127.0.0.1", &stage.url()]) => {
            Cell::Fail(format!("no page named {} and the host of the redirect", stage.url()))
        }
        () if !named(&[SCOPE, "127.0.0.1"]) => Cell::Fail(format!("no page named the scope {SCOPE}")),
        () => Cell::Ok,
    }
}

/// Every visit that began, once all of them have ended.
fn visits(log: &Path) -> Result<Vec<Value>, String> {
    let start = Instant::now();
    loop {
        let lines = read(log);
        let (opened, ended): (Vec<Value>, Vec<Value>) =
            lines.into_iter().partition(|line| line.get("opened").is_some());
        if opened.is_empty() {
            return Err("nobody opened a browser".to_owned());
        }
        if ended.len() >= opened.len() {
            return Ok(ended);
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
pub fn issuer(issuer: Issuer, log: &Path, stage: &Stage) -> Cell {
    if issuer == Issuer::Ours {
        return Cell::Absent("our issuer keeps no record".to_owned());
    }
    let events = read(log);
    let of = |name: &str| events.iter().filter(move |event| event["event"] == name).collect::<Vec<_>>();
    if let Some(error) = events.iter().find(|event| event["event"].as_str().is_some_and(is_failure)) {
        return Cell::Fail(error.to_string());
    }
    let (authorizations, grants) = (of("authorization"), of("grant"));
    let without = |name: &str, value: &str| {
        move |event: &&&Value| event[name].as_str() != Some(value)
    };
    let url = stage.url();
    if let Some(event) = authorizations.iter().find(without("code_challenge_method", "S256")) {
        return Cell::Fail(format!("without PKCE: {event}"));
    }
    if let Some(event) = authorizations.iter().chain(&grants).find(without("resource", &url)) {
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
