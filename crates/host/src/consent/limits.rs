//! How much one caller, and all callers together, may ask of a server; and how often a server may ask something back.
//!
//! What exceeds a limit is refused at once, with the time after which to try again. Nothing is queued here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use contexture::Principal;
use contexture::engine::{Allowance, BUSY};
use contexture::model::ErrorObject;
use serde_json::json;

use super::asking::shown;
use crate::config::Limits;

/// Principals, and servers, that are counted at the same time.
const COUNTED: usize = 10_000;
/// When to try again, where nobody can know when a running call ends.
const SOME_TIME: u64 = 1_000;

/// What is permitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallLimits {
    /// Calls of one principal in a second.
    pub per_principal: Option<u32>,
    /// Calls of one server in a second, of everybody together.
    pub per_server: Option<u32>,
    /// Questions of one server (to people, to a model, for roots) in a second.
    pub questions_per_server: Option<u32>,
    /// Calls of one principal at the same time.
    pub at_once: usize,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self { per_principal: None, per_server: None, questions_per_server: Some(10), at_once: 64 }
    }
}

impl From<&Limits> for CallLimits {
    fn from(limits: &Limits) -> Self {
        Self {
            per_principal: limits.calls_per_second,
            per_server: limits.server_calls_per_second,
            questions_per_server: limits.questions_per_second,
            at_once: limits.concurrent_calls,
        }
    }
}

/// Counts.
#[derive(Debug)]
pub(super) struct Gauge {
    started: Instant,
    counts: Arc<Mutex<Counts>>,
}

#[derive(Debug)]
struct Counts {
    limits: CallLimits,
    callers: HashMap<Principal, Caller>,
    servers: HashMap<String, Allowance>,
    questions: HashMap<String, Allowance>,
}

#[derive(Debug)]
struct Caller {
    rate: Allowance,
    running: usize,
}

/// A call that runs. It counts until this is dropped.
#[derive(Debug)]
pub struct Admission {
    counts: Arc<Mutex<Counts>>,
    principal: Principal,
}

impl Drop for Admission {
    fn drop(&mut self) {
        let mut counts = lock(&self.counts);
        if let Some(caller) = counts.callers.get_mut(&self.principal) {
            caller.running = caller.running.saturating_sub(1);
        }
    }
}

impl Gauge {
    pub(super) fn new(limits: CallLimits) -> Self {
        let counts =
            Counts { limits, callers: HashMap::new(), servers: HashMap::new(), questions: HashMap::new() };
        Self { started: Instant::now(), counts: Arc::new(Mutex::new(counts)) }
    }

    /// Other rates begin anew; what runs goes on to count.
    pub(super) fn change(&self, limits: CallLimits) {
        let mut counts = lock(&self.counts);
        if counts.limits != limits {
            let rate = rate(limits.per_principal);
            counts.callers.values_mut().for_each(|caller| caller.rate = rate.clone());
            counts.servers.clear();
            counts.questions.clear();
            counts.limits = limits;
        }
    }

    pub(super) fn admit(&self, principal: &Principal, server: &str) -> Result<Admission, ErrorObject> {
        self.admit_at(principal, server, self.started.elapsed())
    }

    fn admit_at(&self, principal: &Principal, server: &str, now: Duration) -> Result<Admission, ErrorObject> {
        // Proofs end with their request; only who it is outlives it.
        let principal = principal.identity();
        let mut counts = lock(&self.counts);
        let counts = &mut *counts;
        let limits = &counts.limits;
        if counts.callers.len() >= COUNTED && !counts.callers.contains_key(&principal) {
            counts.callers.retain(|_, caller| caller.running > 0);
            if counts.callers.len() >= COUNTED {
                return Err(busy("too many callers at once".to_owned(), SOME_TIME));
            }
        }
        let new = || Caller { rate: rate(limits.per_principal), running: 0 };
        let caller = counts.callers.entry(principal.clone()).or_insert_with(new);
        if caller.running >= limits.at_once {
            let words =
                format!("{} of your calls are running, which is as many as you may have", caller.running);
            return Err(busy(words, SOME_TIME));
        }
        if !caller.rate.take(now) {
            let most = limits.per_principal.unwrap_or(u32::MAX);
            return Err(busy(format!("you may make {most} calls in a second"), pause(most)));
        }
        if let Some(most) = limits.per_server {
            let taken = take(&mut counts.servers, server, most, now);
            if !taken {
                let words = format!("server {} may be called {most} times in a second", shown(server));
                return Err(busy(words, pause(most)));
            }
        }
        caller.running += 1;
        Ok(Admission { counts: Arc::clone(&self.counts), principal })
    }

    pub(super) fn admit_question(&self, server: &str) -> Result<(), ErrorObject> {
        self.admit_question_at(server, self.started.elapsed())
    }

    fn admit_question_at(&self, server: &str, now: Duration) -> Result<(), ErrorObject> {
        let mut counts = lock(&self.counts);
        let Some(most) = counts.limits.questions_per_server else { return Ok(()) };
        if take(&mut counts.questions, server, most, now) {
            return Ok(());
        }
        Err(busy(format!("server {} may ask {most} questions in a second", shown(server)), pause(most)))
    }
}

fn take(known: &mut HashMap<String, Allowance>, server: &str, most: u32, now: Duration) -> bool {
    if let Some(rate) = known.get_mut(server) {
        return rate.take(now);
    }
    // Names come from the configuration, but configurations are reloaded.
    if known.len() >= COUNTED {
        known.clear();
    }
    known.entry(server.to_owned()).or_insert_with(|| Allowance::new(most)).take(now)
}

fn rate(per_second: Option<u32>) -> Allowance {
    Allowance::new(per_second.unwrap_or(u32::MAX))
}

/// By then there is room for one more.
fn pause(per_second: u32) -> u64 {
    1_000_u64.div_ceil(per_second.max(1).into())
}

fn busy(what: String, retry_after_ms: u64) -> ErrorObject {
    ErrorObject::new(BUSY, format!("too many calls: {what}; try again later"))
        .data(json!({ "retryAfterMs": retry_after_ms }))
}

fn lock(counts: &Mutex<Counts>) -> MutexGuard<'_, Counts> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gauge(limits: CallLimits) -> Gauge {
        Gauge::new(limits)
    }

    const NOW: Duration = Duration::from_secs(1);

    // covers: TOOLS-SEC-RATE-LIMIT
    #[test]
    fn each_caller_has_a_rate_and_each_server() {
        let limits = CallLimits { per_principal: Some(3), per_server: Some(5), ..CallLimits::default() };
        let gauge = gauge(limits);
        let (ada, bob) = (Principal::new("i", "ada"), Principal::new("i", "bob"));
        let permitted =
            |who: &Principal, now| (0..10).filter(|_| gauge.admit_at(who, "a", now).is_ok()).count();
        assert_eq!(permitted(&ada, NOW), 3);
        assert_eq!(permitted(&bob, NOW), 2, "the server has had enough of both");
        assert_eq!(permitted(&ada, NOW + Duration::from_secs(1)), 3, "time heals");
        let refused = gauge.admit_at(&ada, "b", NOW + Duration::from_secs(1)).expect_err("too many");
        assert_eq!((refused.code, refused.data), (BUSY, Some(json!({ "retryAfterMs": 334 }))));
    }

    #[test]
    fn calls_at_once_are_counted_by_caller_until_they_end() {
        let gauge = gauge(CallLimits { at_once: 2, ..CallLimits::default() });
        let (ada, bob) = (Principal::new("i", "ada"), Principal::new("i", "bob"));
        let first = gauge.admit_at(&ada, "a", NOW).expect("room");
        let _second = gauge.admit_at(&ada, "b", NOW).expect("room");
        let refused = gauge.admit_at(&ada, "a", NOW).expect_err("two are running");
        assert_eq!(refused.code, BUSY);
        assert!(refused.data.is_some_and(|data| data["retryAfterMs"].is_u64()));
        assert!(gauge.admit_at(&bob, "a", NOW).is_ok(), "another one has room");
        drop(first);
        assert!(gauge.admit_at(&ada, "a", NOW).is_ok(), "one has ended");
    }

    // covers: SAMP-RATE-LIMIT, ELIC-RATE-LIMIT
    #[test]
    fn each_server_may_ask_so_often_and_no_more() {
        let gauge = gauge(CallLimits { questions_per_server: Some(2), ..CallLimits::default() });
        let asked = |server, now| (0..9).filter(|_| gauge.admit_question_at(server, now).is_ok()).count();
        assert_eq!((asked("a", NOW), asked("b", NOW)), (2, 2));
        assert_eq!(asked("a", NOW + Duration::from_millis(500)), 1);
    }

    #[test]
    fn the_table_of_callers_is_bounded() {
        let gauge = gauge(CallLimits::default());
        let running = Principal::new("i", "running");
        let _call = gauge.admit_at(&running, "a", NOW).expect("room");
        for number in 0..3 * COUNTED {
            let who = Principal::new("i", number.to_string());
            gauge.admit_at(&who, "a", NOW).expect("those that came and went are forgotten");
        }
        let counts = lock(&gauge.counts);
        assert!(counts.callers.len() <= COUNTED);
        assert_eq!(counts.callers[&running].running, 1, "what runs still counts");
    }

    #[test]
    fn other_limits_hold_at_once() {
        let gauge = gauge(CallLimits { per_principal: Some(1), ..CallLimits::default() });
        let ada = Principal::new("i", "ada");
        assert!(gauge.admit_at(&ada, "a", NOW).is_ok() && gauge.admit_at(&ada, "a", NOW).is_err());
        gauge.change(CallLimits::default());
        assert!((0..20).all(|_| gauge.admit_at(&ada, "a", NOW).is_ok()));
    }
}
