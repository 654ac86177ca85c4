//! The keys of one issuer, as they are now.
//!
//! Fetched by one task however many requests wait for it, and whoever goes away does not end it. A token that names an
//! unknown key makes them be fetched again, but not more often than the interval allows, so that nobody can have
//! us ask as often as they like. Keys that could not be renewed are good until they are too old, and then nothing is.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::discovery;
use super::verifier::{Unverified, invalid};
use crate::auth::jwt::{Header, KeySet};
use crate::auth::outbound::Outbound;

/// How long keys are good for if nobody says.
const FRESH: Duration = Duration::from_secs(15 * 60);

/// Keys of an issuer, and when to ask for them again.
pub(super) struct Keys {
    issuer: String,
    outbound: Outbound,
    /// Between two fetches, whatever happens.
    interval: Duration,
    /// Keys that are older than this are not trusted.
    age: Duration,
    state: Mutex<State>,
    /// Counts fetches that are over.
    fetched: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    /// Where the keys are, as long as they are found there.
    url: Option<String>,
    known: Option<Known>,
    fetching: bool,
    tried: Option<Instant>,
    failed: bool,
}

/// Keys, and which ones they are.
#[derive(Clone)]
pub(super) struct Known {
    pub(super) keys: Arc<KeySet>,
    /// Other keys have another number.
    pub(super) number: u64,
    since: Instant,
    fresh_until: Instant,
}

impl Keys {
    pub(super) fn new(issuer: &str, outbound: Outbound, interval: Duration, age: Duration) -> Arc<Self> {
        let (state, fetched) = (Mutex::default(), watch::Sender::new(0));
        Arc::new(Self { issuer: issuer.to_owned(), outbound, interval, age, state, fetched })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The keys that are trusted now.
    fn known(&self) -> Option<Known> {
        let now = Instant::now();
        self.lock().known.clone().filter(|known| now.duration_since(known.since) < self.age)
    }

    /// Whether the keys with this number are still those that are trusted.
    pub(super) fn are_still(self: &Arc<Self>, number: u64) -> bool {
        let known = self.known();
        if known.as_ref().is_some_and(|known| Instant::now() >= known.fresh_until) {
            drop(self.renew(None));
        }
        known.is_some_and(|known| known.number == number)
    }

    /// Keys among which is the one that a token names.
    pub(super) async fn fitting(self: &Arc<Self>, header: &Header) -> Result<Known, Unverified> {
        let fits = |known: &Known| {
            known.keys.candidates(header.key_id.as_deref(), header.algorithm).next().is_some()
        };
        let known = self.known();
        let seen = known.as_ref().map(|known| known.number);
        if let Some(known) = known.filter(fits) {
            if Instant::now() >= known.fresh_until {
                // Nobody has to wait for that: these are still good.
                drop(self.renew(seen));
            }
            return Ok(known);
        }
        // A token that names no key would fit no better after that.
        if (header.key_id.is_some() || seen.is_none())
            && let Some(mut fetched) = self.renew(seen)
        {
            fetched.changed().await.ok();
        }
        match self.known() {
            Some(known) if fits(&known) => Ok(known),
            Some(_) if !self.lock().failed => Err(invalid("it was not signed with a key of its issuer")),
            _ => Err(Unverified::Unavailable(format!("the keys of {} cannot be fetched", self.issuer))),
        }
    }

    /// Has the keys fetched, unless others than those that were seen are there by now, or it is too early. The
    /// receiver changes when that is done.
    fn renew(self: &Arc<Self>, seen: Option<u64>) -> Option<watch::Receiver<u64>> {
        let fetched = self.fetched.subscribe();
        let mut state = self.lock();
        if state.fetching {
            return Some(fetched);
        }
        let number = state.known.as_ref().map(|known| known.number);
        let too_early = state.tried.is_some_and(|tried| tried.elapsed() < self.interval);
        if too_early || (seen.is_some() && number != seen) {
            return None;
        }
        state.fetching = true;
        state.tried = Some(Instant::now());
        let fetch = Fetch(Arc::clone(self));
        tokio::spawn(async move { fetch.run().await });
        Some(fetched)
    }

    async fn fetch(&self) -> Result<(KeySet, Duration), String> {
        let known = self.lock().url.clone();
        let url = match known {
            Some(url) => url,
            None => {
                let metadata = discovery::metadata(&self.outbound, &self.issuer).await?;
                metadata.jwks_uri.ok_or_else(|| format!("{} publishes no keys (jwks_uri)", self.issuer))?
            }
        };
        let answer = self.outbound.get(&url, &[("accept", "application/json")]).await;
        let answer = answer.map_err(|error| format!("{url}: {error}"))?;
        let keys = KeySet::parse(&answer.body).map_err(|error| format!("{url}: {error}"))?;
        self.lock().url = Some(url);
        Ok((keys, freshness(answer.header("cache-control").unwrap_or_default())))
    }
}

/// One fetch. However it ends, those who wait for it are told.
struct Fetch(Arc<Keys>);

impl Fetch {
    async fn run(&self) {
        let keys = &self.0;
        let fetched = keys.fetch().await;
        let mut state = keys.lock();
        state.failed = fetched.is_err();
        match fetched {
            Ok((fetched, fresh)) => {
                let since = Instant::now();
                let fresh_until = since + fresh.clamp(keys.interval.min(keys.age), keys.age);
                let number = state.known.as_ref().map_or(0, |known| known.number + 1);
                tracing::debug!(issuer = keys.issuer, keys = fetched.len(), "keys were fetched");
                state.known = Some(Known { keys: Arc::new(fetched), number, since, fresh_until });
            }
            Err(why) => {
                // They may have moved.
                state.url = None;
                tracing::warn!(issuer = keys.issuer, why, "keys cannot be fetched");
            }
        }
    }
}

impl Drop for Fetch {
    fn drop(&mut self) {
        self.0.lock().fetching = false;
        self.0.fetched.send_modify(|count| *count += 1);
    }
}

/// How long an answer is good for, as far as it says so.
fn freshness(cache_control: &str) -> Duration {
    for directive in cache_control.split(',') {
        let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
        match name.trim().to_ascii_lowercase().as_str() {
            "max-age" => {
                if let Ok(seconds) = value.trim().trim_matches('"').parse() {
                    return Duration::from_secs(seconds);
                }
            }
            "no-store" | "no-cache" => return Duration::ZERO,
            _ => {}
        }
    }
    FRESH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_say_how_long_they_are_good_for() {
        for (value, seconds) in [
            ("max-age=60", 60),
            ("public, Max-Age=\"5\", must-revalidate", 5),
            ("no-store", 0),
            ("no-cache, max-age=60", 0),
            ("max-age=-1", FRESH.as_secs()),
            ("max-age=soon", FRESH.as_secs()),
            ("s-maxage=60", FRESH.as_secs()),
            ("max-age=18446744073709551615", u64::MAX),
            ("", FRESH.as_secs()),
        ] {
            assert_eq!(freshness(value), Duration::from_secs(seconds), "{value}");
        }
    }
}
