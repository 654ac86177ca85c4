//! The exchanges of one call: one as a rule, more where the server asks something first.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Number;
use tokio::time::timeout;

use super::Options;
use crate::client::Client;
use crate::client::link::{Aside, Hears, Link, Outgoing};
use crate::client::live::Live;
use crate::client::payload::{Metadata, Payload};
use crate::client::rounds::{Reply, Round, Rounds};
use crate::engine::Patience;
use crate::json_rpc::string_text;
use crate::model::{MAX_TTL_MS, Method, ProgressParams, code};
use crate::revision::Rules;
use crate::{Error, HttpRefusal, Result};

/// The exchanges of one call.
pub(super) struct Exchanges<'a> {
    pub(super) client: &'a Client,
    pub(super) live: Arc<Live>,
    pub(super) method: &'a str,
    pub(super) known: Option<Method>,
    pub(super) payload: &'a Payload,
    pub(super) options: &'a mut Options,
}

impl Exchanges<'_> {
    /// A kept result, or else a new one, which is kept for as long as the server permits.
    pub(super) async fn run_cached(&mut self, method: Method, key: String) -> Result<Bytes> {
        let hub = self.client.hub();
        if let Some(result) = hub.cache.get(method, &key) {
            return Ok(result);
        }
        let asked = hub.cache.generation(method);
        let has_hints = self.live.session()?.rules.has_cache_hints;
        let (result, plain): (Bytes, _) = self.run().await?;
        let ttl = match method {
            Method::CompletionComplete => hub.config.completion_ttl,
            _ if has_hints => lifetime(&result),
            _ => Duration::ZERO,
        };
        if plain {
            hub.cache.keep(method, key, result.clone(), ttl, asked);
        }
        Ok(result)
    }

    /// Until there is a result. Says whether it came without an input round. What the server has certainly not
    /// done is tried once more: where it has forgotten the session, and where it knows the tool otherwise.
    pub(super) async fn run<R: Reply>(&mut self) -> Result<(R, bool)> {
        let (mut renews, mut learns) = (self.options.renews, self.known == Some(Method::ToolsCall));
        loop {
            // What is rare is in boxes: the room for it would be moved with every call.
            match self.run_once().await {
                Err(Error::SessionEnded) if std::mem::take(&mut renews) => {
                    let renewed = self.options.cancel.unless(self.client.session_after(&self.live));
                    self.live = Box::pin(renewed).await??;
                }
                Err(Error::Remote(error))
                    if error.code == code::HEADER_MISMATCH
                        && self.live.mirrors()
                        && std::mem::take(&mut learns) =>
                {
                    let learned = self.options.cancel.unless(self.client.learn_tools_anew());
                    if Box::pin(learned).await?.is_err() {
                        return Err(Error::Remote(error));
                    }
                }
                outcome => return outcome,
            }
        }
    }

    /// Everything together, what the responders take included, has the time that one exchange would have.
    async fn run_once<R: Reply>(&mut self) -> Result<(R, bool)> {
        let live = Arc::clone(&self.live);
        let session = live.session()?;
        let clock = Clock { link: &live.link, began: live.link.now(), total: self.options.patience.total };
        let mut rounds = Rounds::new(session, &self.client.hub().config, self.known);
        let mut answered = None;
        loop {
            let payload = answered.as_ref().unwrap_or(self.payload);
            let result = self.once(&live, payload, &clock).await?;
            let asked = match R::read(&mut rounds, result)? {
                Round::Asked(asked) => asked,
                Round::Done(result) => return Ok((result, rounds.is_first())),
            };
            let answers = timeout(clock.left(), asked.answer(rounds.config(), session));
            let answers = Box::pin(self.options.cancel.unless(answers)).await?;
            let answers = answers.map_err(|_| Error::Timeout(clock.total))??;
            answered = Some(answers.into_payload(self.payload)?);
        }
    }

    async fn once(&mut self, live: &Live, payload: &Payload, clock: &Clock<'_>) -> Result<Bytes> {
        let session = live.session()?;
        let wants_progress = self.options.on_progress.is_some();
        let level = self.client.hub().log_level();
        let text = session.request_meta(level, &self.options.meta, wants_progress);
        let mut waiting = live.link.open(Outgoing {
            method: self.method,
            payload,
            meta: Metadata { text, wants_progress },
            patience: Patience { total: clock.left(), ..self.options.patience },
            cancellable: true,
            hears: Hears::Nothing,
            must_know: false,
            acknowledged: None,
            headers: self.client.mirrored(live, self.known, payload)?,
        })?;
        let on_progress = &mut self.options.on_progress;
        let reason = tokio::select! {
            biased;
            reason = self.options.cancel.reason() => reason,
            result = waiting.result(|aside| told(aside, on_progress)) => {
                return result.map_err(|error| raise(self.known, session.rules, clock.whole(error)));
            }
        };
        waiting.reason = reason.filter(|reason| !reason.is_empty());
        Err(Error::Cancelled)
    }
}

fn told(aside: Aside, on_progress: &mut Option<Box<dyn FnMut(ProgressParams) + Send>>) {
    if let (Aside::Progress(progress), Some(call)) = (aside, on_progress) {
        call(progress);
    }
}

impl Client {
    /// The arguments of a tool that are said again in headers.
    pub(in crate::client) fn mirrored(
        &self,
        live: &Live,
        method: Option<Method>,
        payload: &Payload,
    ) -> Result<Vec<(String, String)>> {
        if method != Some(Method::ToolsCall) || !live.mirrors() {
            return Ok(Vec::new());
        }
        let name = payload.member("name").and_then(string_text);
        let tool = name.and_then(|name| self.hub().tools.get(&name));
        let arguments = payload.member("arguments");
        tool.map_or_else(|| Ok(Vec::new()), |tool| tool.mirrored(arguments))
    }
}

/// How long the server says that a result may be kept.
fn lifetime(result: &Bytes) -> Duration {
    #[derive(Deserialize)]
    struct Hint {
        #[serde(rename = "ttlMs")]
        ttl_ms: Option<Number>,
    }
    let hint = serde_json::from_slice::<Hint>(result).ok().and_then(|hint| hint.ttl_ms);
    // The cast saturates: negative numbers become 0.
    let ttl = hint.and_then(|ttl| ttl.as_f64()).unwrap_or(0.0) as u64;
    Duration::from_millis(ttl.min(MAX_TTL_MS))
}

/// The time of a whole call.
struct Clock<'a> {
    /// Its clock stands still while a person logs in.
    link: &'a Link,
    began: Duration,
    total: Duration,
}

impl Clock<'_> {
    fn left(&self) -> Duration {
        self.total.saturating_sub(self.link.now().saturating_sub(self.began))
    }

    /// The last exchange had only what was left; the caller gave more.
    fn whole(&self, error: Error) -> Error {
        match error {
            Error::Timeout(_) if self.left().is_zero() => Error::Timeout(self.total),
            other => other,
        }
    }
}

/// Errors that the revisions number differently mean the same to the caller.
pub(in crate::client) fn raise(method: Option<Method>, rules: &Rules, error: Error) -> Error {
    match error {
        Error::Http(refusal) => raise_refusal(method, rules, *refusal),
        Error::Remote(error)
            if method == Some(Method::ResourcesRead)
                && [rules.not_found_code, code::RESOURCE_NOT_FOUND].contains(&error.code) =>
        {
            tracing::debug!(%error, "no such resource");
            Error::NotFound
        }
        other => other,
    }
}

/// What the server says in the protocol's own words counts more than the status that it says it with, unless
/// it has to do with access or load, or nothing was said to us.
fn raise_refusal(method: Option<Method>, rules: &Rules, refusal: HttpRefusal) -> Error {
    let plain = refusal.status < 500 && !matches!(refusal.status, 401 | 403 | 407 | 429);
    match refusal.error {
        Some(error) if plain => raise(method, rules, Error::Remote(error)),
        error => Error::Http(Box::new(HttpRefusal { error, ..refusal })),
    }
}
