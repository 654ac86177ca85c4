//! `login`, `logout` and `auth`: who we are to a server.
//!
//! Tokens and secrets are never printed, in no format: only who issued them, for what and for how long.

use std::time::{SystemTime, UNIX_EPOCH};

use contexture::auth::{Account, Authorization};
use contexture::transport::PersonTime;
use serde::Serialize;
use serde_json::json;

use super::hint::quoted;
use super::print;
use crate::connect::known_to;
use crate::exit::Failure;
use crate::options::{Door, LoggingIn};
use crate::place::Place;
use crate::terminal::text::safe_line;
use crate::trip::{Trip, Way};

/// Where a client secret is looked for: arguments can be seen by everybody on the machine.
pub(crate) const SECRET: &str = "CONTEXTURE_CLIENT_SECRET";

/// What is printed about a server.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    url: &'a str,
    login: Option<Login>,
    /// What to do next, if there is something to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A login, without its secrets.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Login {
    issuer: String,
    resource: String,
    client_id: String,
    scopes: Vec<String>,
    /// Seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<u64>,
    expired: bool,
    /// Whether a new token can be had without a person.
    refreshable: bool,
}

/// Where to log in: the place, and its address.
struct Where {
    place: Place,
    url: String,
}

impl Where {
    fn of(door: &Door) -> Result<Self, Failure> {
        let place = Place::find(door.server.as_deref(), &door.files)?;
        match place.url().map(str::to_owned) {
            Some(url) => Ok(Self { place, url }),
            None => {
                Err(Failure::usage("that server is started on this machine: there is nothing to log in to"))
            }
        }
    }
}

pub(super) async fn login(wishes: &LoggingIn) -> Result<(), Failure> {
    let door = &wishes.door;
    let Where { place, url } = Where::of(door)?;
    // What is filled in of its address and its client goes out.
    place.may_start()?;
    let known = place.login();
    let way = if wishes.headless { Way::Headless } else { Way::Browser };
    let port = wishes.port.or_else(|| known?.callback_port);
    let trip = Trip::new(way, port, PersonTime::new());
    let mut authorization = known_to(Authorization::visitor(trip).client_name("contexture"), known);
    let scopes = known.map(|login| login.scopes.as_slice()).unwrap_or_default();
    authorization = authorization.scopes(scopes.iter().chain(&wishes.scopes).cloned());
    if let Some(id) = &wishes.client_id {
        authorization = authorization.client_id(id);
        if let Ok(secret) = std::env::var(SECRET) {
            authorization = authorization.client_secret(secret);
        }
    }
    let account = authorization.login(&url).await.map_err(|error| Failure::connecting(&error))?;
    let report = Report::new(&url, Some(account));
    print(door.format, &report, || report.text("logged in to"))
}

pub(super) async fn logout(door: &Door) -> Result<(), Failure> {
    let Where { url, .. } = Where::of(door)?;
    let was_in = Authorization::stored().logout(&url).await?;
    let words = if was_in { "logged out of" } else { "nobody is logged in to" };
    print(door.format, &json!({ "url": url, "loggedOut": was_in }), || {
        format!("{words} {}\n", safe_line(&url))
    })
}

/// What `auth` says. Where a login is needed, that is how it ends, too.
pub(super) async fn status(door: &Door) -> Result<(), Failure> {
    let Where { url, .. } = Where::of(door)?;
    let report = Report::new(&url, Authorization::stored().status(&url).await?);
    print(door.format, &report, || {
        report.login.as_ref().map_or_else(String::new, |_| report.text("known to"))
    })?;
    match report.next {
        None => Ok(()),
        Some(next) => {
            let words =
                if report.login.is_some() { "a new login is needed at" } else { "nobody is logged in to" };
            Err(Failure::login_needed(format!("{words} {url}")).hint(Some(next)))
        }
    }
}

impl<'a> Report<'a> {
    fn new(url: &'a str, account: Option<Account>) -> Self {
        let login = account.map(Login::new);
        let usable = login.as_ref().is_some_and(|login| !login.expired || login.refreshable);
        let next = (!usable).then(|| format!("contexture login {}", quoted(url)));
        Self { url, login, next }
    }

    fn text(&self, words: &str) -> String {
        let login = self.login.as_ref().map(Login::text).unwrap_or_default();
        format!("{words} {}\n{login}", safe_line(self.url))
    }
}

impl Login {
    fn new(account: Account) -> Self {
        Self {
            expired: account.expires_at.is_some_and(|end| end <= now()),
            issuer: account.issuer,
            resource: account.resource,
            client_id: account.client_id,
            scopes: account.scopes.iter().map(str::to_owned).collect(),
            expires_at: account.expires_at,
            refreshable: account.can_refresh,
        }
    }

    fn text(&self) -> String {
        let scopes = if self.scopes.is_empty() { "not said".to_owned() } else { self.scopes.join(" ") };
        let lines = [
            ("issuer", &self.issuer),
            ("resource", &self.resource),
            ("client", &self.client_id),
            ("scopes", &scopes),
            ("token", &self.token(now())),
        ];
        lines.map(|(name, value)| format!("  {name:<9} {}\n", safe_line(value))).concat()
    }

    /// How long the token is good for, in words.
    fn token(&self, now: u64) -> String {
        match (self.expires_at, self.refreshable) {
            (None, _) => "good until the server says otherwise".to_owned(),
            (Some(end), true) if end > now => format!("good for {}, then refreshed", span(end - now)),
            (Some(end), false) if end > now => {
                format!("good for {}, then a login is needed", span(end - now))
            }
            (Some(end), true) => format!("expired {} ago, refreshed when it is next used", span(now - end)),
            (Some(end), false) => format!("expired {} ago", span(now - end)),
        }
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// A time in the largest unit that fits twice.
fn span(seconds: u64) -> String {
    let units = [(24 * 60 * 60, "days"), (60 * 60, "hours"), (60, "minutes")];
    let unit = units.iter().find(|(length, _)| seconds >= 2 * length);
    unit.map_or_else(|| format!("{seconds} seconds"), |(length, name)| format!("{} {name}", seconds / length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_said_in_words() {
        let cases = [
            (0, "0 seconds"),
            (119, "119 seconds"),
            (120, "2 minutes"),
            (7199, "119 minutes"),
            (90_000, "25 hours"),
        ];
        for (seconds, wanted) in cases {
            assert_eq!(span(seconds), wanted);
        }
    }
}
